"""Resources and limits of one program: control groups, disk, processes."""
