"""schema/journal.v1.json says what the records of a journal are."""

from tests.docs.journal_schema import journal_schema
from tests.docs.pages import check_page


def test_the_schema_is_what_the_records_are() -> None:
    check_page("../schema/journal.v1.json", journal_schema())
