"""XML that any reader accepts, whatever names and messages are in it."""

import re
from xml.etree.ElementTree import Element, indent, tostring

_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML 1.0 has no form of (its section 2.2)."""


def xml_document(root: Element) -> str:
    """The element as a document, indented; ends with a newline."""
    indent(root)
    text = _NOT_IN_XML.sub("\ufffd", tostring(root, encoding="unicode"))
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'
