"""The form of the table in which launches are recorded, memory that worker and judge share: a head, and one record for each kernel."""

import struct

TABLE = struct.Struct("=QQ")
"""Launches in all, and records used."""
RECORD = struct.Struct("=QQQQ9IiI5i8IQQQQ32s256s256s")
"""record_t of launch_recorder.c."""
INTERPRETED = "triton interpreter"
"""What stands for the function that launched, where Triton's interpreter ran a kernel on the CPU."""
