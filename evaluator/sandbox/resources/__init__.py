"""What one program is given of the machine, and how it is limited: control groups, disk, processes."""
