"""Arrow's types and columns in Spark's words."""

import pyarrow as pa

_PLAIN = {
    pa.string(): "string",
    pa.bool_(): "boolean",
    pa.int8(): "tinyint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float64(): "double",
    pa.date32(): "date",
}


def columns_of(schema: pa.Schema) -> str:
    """The columns as Spark's DDL has them."""
    return ", ".join(f"`{field.name}` {spark_type(field.type)}" for field in schema)


def spark_type(kind: pa.DataType) -> str:
    """A type as Spark's schemas spell it."""
    if pa.types.is_list(kind):
        return f"array<{spark_type(kind.value_type)}>"
    if pa.types.is_struct(kind):
        return f"struct<{', '.join(f'`{f.name}`: {spark_type(f.type)}' for f in kind)}>"
    return _PLAIN[kind]
