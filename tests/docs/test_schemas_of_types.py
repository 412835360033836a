"""schema/plan.v1.json and schema/journal.v1.json say what the types of a plan and of a journal's records are."""

from tests.docs.pages import check_page
from tests.docs.schemas_of_types import journal_schema, plan_schema


def test_the_schema_of_a_journal_is_what_its_records_are() -> None:
    check_page("../schema/journal.v1.json", journal_schema())


def test_the_schema_of_a_plan_is_what_its_forms_are() -> None:
    check_page("../schema/plan.v1.json", plan_schema())
