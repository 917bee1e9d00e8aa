"""The base class of all stored records."""

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """Base of all stored types: immutable, no unknown fields, no NaN in its JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")
