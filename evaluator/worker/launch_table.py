"""Layout of the launch table, memory that worker and judge share: a head, and one record per kernel."""

import struct

TABLE = struct.Struct("=QQ")
"""Total launches, and used records."""
RECORD = struct.Struct("=QQQQ9IiI5i8IQQQQ32s256s256s")
"""record_t of launch_recorder.c."""
INTERPRETED = "triton interpreter"
"""The `api` of a kernel that Triton's interpreter ran on the CPU."""
