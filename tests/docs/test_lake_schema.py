"""schema/lake.v1.json says what the tables of the lake are."""

from tests.docs.lake_schema import lake_schema
from tests.docs.pages import check_page


def test_the_schema_is_what_the_tables_are() -> None:
    check_page("../schema/lake.v1.json", lake_schema())
