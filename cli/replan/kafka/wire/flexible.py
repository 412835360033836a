"""The parts of Kafka's flexible encoding (KIP-482), read from a place in a response's body."""

LONGEST_ONE_BYTE = 0x7F


class Cursor:
    """A place in a body, which moves on with each part that is read."""

    __slots__ = ("at", "content")

    def __init__(self, content: bytes, at: int = 0) -> None:
        self.content, self.at = content, at

    def skip(self, count: int) -> None:
        """Pass over so many bytes."""
        self.at += count

    def integer(self, width: int) -> int:
        """A signed number of so many bytes."""
        self.at += width
        return int.from_bytes(self.content[self.at - width : self.at], "big", signed=True)

    def boolean(self) -> bool:
        """A byte that is 0 or not."""
        self.at += 1
        return self.content[self.at - 1] != 0

    def varint(self) -> int:
        """An unsigned number in seven bits a byte, the lowest first."""
        value = shift = 0
        while True:
            byte = self.content[self.at]
            self.at += 1
            value |= (byte & LONGEST_ONE_BYTE) << shift
            if byte <= LONGEST_ONE_BYTE:
                return value
            shift += 7

    def length(self) -> int:
        """How many elements or bytes follow; none for null."""
        return max(0, self.varint() - 1)

    def octets(self) -> bytes:
        """A string as it is encoded; empty for null."""
        length = self.length()
        self.at += length
        return self.content[self.at - length : self.at]

    def text(self) -> str:
        """A string; empty for null."""
        return self.octets().decode()

    def skip_tags(self) -> None:
        """Pass over tagged fields, which nobody here knows."""
        for _ in range(self.varint()):
            self.varint()
            self.skip(self.varint())
