"""Makes the JSON schema of the written records from their types; it is shipped as a file.

python -m db.output.record_schema > db/output/record.schema.json
"""

import json
import sys
from pathlib import Path

FILE = Path(__file__).with_name("record.schema.json")
DESCRIPTION = (
    "A line of `--json` is a JudgedRecord, a line of `export --format json` an ExportedRecord. "
    "A number that JSON has no form for is the string NaN, Infinity or -Infinity."
)


def generated() -> str:
    """The schema, made from this version's types."""
    from typing import Any, get_type_hints

    from pydantic import create_model
    from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, models_json_schema
    from pydantic_core import core_schema

    from db.storage.record import Stored
    from evaluator.results.evidence import Record
    from evaluator.results.record import JudgedRecord, fields_of
    from evaluator.results.result import Result

    class Schema(GenerateJsonSchema):
        """Pydantic's schema, for records in which no field is omitted and numbers may be strings."""

        def field_is_required(self, *_args: object, **_named: object) -> bool:
            return True

        def float_schema(self, schema: core_schema.FloatSchema) -> JsonSchemaValue:
            made = super().float_schema(schema)
            if schema.get("allow_inf_nan") is False:
                return made
            return {"anyOf": [made, {"enum": ["NaN", "Infinity", "-Infinity"]}]}

    of_store: dict[str, Any] = {name: (kind, ...) for name, kind in get_type_hints(Stored).items()}
    exported = create_model(
        "ExportedRecord",
        __base__=Record,
        __doc__="One evaluation with all that is known of it, as `export --format json` writes it.",
        **{"id": (int, ...)} | fields_of(Result) | of_store,
    )
    modes = [(JudgedRecord, "serialization"), (exported, "serialization")]
    _, definitions = models_json_schema(modes, schema_generator=Schema)  # type: ignore[arg-type]  # a list is not a Sequence of literals
    names = ("JudgedRecord", "ExportedRecord")
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Records of Assay",
        "description": DESCRIPTION,
        "anyOf": [{"$ref": f"#/$defs/{name}"} for name in names],
        **definitions,
    }
    return json.dumps(whole, indent=1) + "\n"


if __name__ == "__main__":
    sys.stdout.write(generated())
