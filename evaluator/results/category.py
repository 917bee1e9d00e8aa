"""The vocabulary of verdicts: every status, every category, and what each one means.

One table, `CATEGORIES`, holds all texts about a category: its status, its meaning, the evidence that it needs, and the hint that helps
to fix the submission. To add a category, add it to `Category` and to `CATEGORIES`, and add the rule that gives it: one module in
`evaluator/diagnosis/rules`, whose decorator says which categories it may give and when it is tried. CONTRIBUTING.md names the tests and
documents that go with it.
"""

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """How an evaluation ended."""

    CORRECT = "correct"
    INCORRECT = "incorrect"
    BUILD_FAILED = "build_failed"
    RUN_FAILED = "run_failed"
    REJECTED = "rejected"
    DISQUALIFIED = "disqualified"
    NOT_EVALUATED = "not_evaluated"


class Category(StrEnum):
    """Why an evaluation ended so. Each category belongs to one status."""

    OK = "ok"
    REDUCED_PRECISION = "reduced_precision"
    NO_CUSTOM_KERNEL = "no_custom_kernel"
    DEGENERATE_PROBLEM = "degenerate_problem"
    UNTIMED = "untimed"

    WRONG_SHAPE = "wrong_shape"
    WRONG_DTYPE = "wrong_dtype"
    WRONG_STRUCTURE = "wrong_structure"
    WRONG_VALUES = "wrong_values"
    PRECISION_LOSS = "precision_loss"
    NAN_OR_INF = "nan_or_inf"
    UNWRITTEN_OUTPUT = "unwritten_output"
    NONDETERMINISTIC = "nondeterministic"
    MUTATED_INPUT = "mutated_input"
    SHAPE_SPECIFIC = "shape_specific"

    CONST_POINTER = "const_pointer"
    UNDECLARED_IDENTIFIER = "undeclared_identifier"
    MISSING_BINDING = "missing_binding"
    LOAD_INLINE_MISUSE = "load_inline_misuse"
    MISSING_HEADER = "missing_header"
    CUDA_COMPILE_ERROR = "cuda_compile_error"
    CPP_COMPILE_ERROR = "cpp_compile_error"
    LINK_ERROR = "link_error"
    BUILD_TIMEOUT = "build_timeout"

    IMPORT_ERROR = "import_error"
    INIT_ERROR = "init_error"
    PYTHON_EXCEPTION = "python_exception"
    OVERSIZED_BLOCK = "oversized_block"
    INVALID_LAUNCH = "invalid_launch"
    ILLEGAL_MEMORY_ACCESS = "illegal_memory_access"
    MISALIGNED_ADDRESS = "misaligned_address"
    DEVICE_ASSERT = "device_assert"
    OUT_OF_MEMORY = "out_of_memory"
    WRONG_DEVICE = "wrong_device"
    TIMEOUT = "timeout"
    PROCESS_CRASH = "process_crash"
    EARLY_EXIT = "early_exit"

    NO_CODE_BLOCK = "no_code_block"
    SYNTAX_ERROR = "syntax_error"
    MISSING_MODEL_NEW = "missing_model_new"
    UNKNOWN_PROBLEM = "unknown_problem"
    UNREADABLE_FILE = "unreadable_file"
    TOO_LARGE = "too_large"

    TIMING_TAMPERING = "timing_tampering"
    CACHED_OUTPUT = "cached_output"
    DEFERRED_WORK = "deferred_work"
    ESCAPED_STREAM = "escaped_stream"
    FORGED_RESULT = "forged_result"
    REFERENCE_ACCESS = "reference_access"
    SANDBOX_VIOLATION = "sandbox_violation"
    IMPLAUSIBLE_SPEED = "implausible_speed"

    NO_DEVICE = "no_device"
    NO_TOOLCHAIN = "no_toolchain"
    PROBLEM_ERROR = "problem_error"
    INFRASTRUCTURE_ERROR = "infrastructure_error"
    INTERRUPTED = "interrupted"

    @property
    def status(self) -> Status:
        return CATEGORIES[self].status


@dataclass(frozen=True)
class CategoryInfo:
    """Status and texts of one category."""

    status: Status
    meaning: str
    """One line, for a table."""
    evidence: str
    """What the judge has to observe before it gives this category."""
    hint: str
    """What to change; empty if there is nothing to fix."""


def _group(status: Status, **rows: tuple[str, str, str]) -> dict[Category, CategoryInfo]:
    return {Category(name): CategoryInfo(status, *row) for name, row in rows.items()}


CATEGORIES: dict[Category, CategoryInfo] = {
    **_group(
        Status.CORRECT,
        ok=(
            "Right in every round, and its own kernels did the work.",
            "rounds; the output without its own kernels",
            "",
        ),
        reduced_precision=(
            "Right on the problem's own inputs, but in narrower arithmetic, such as TF32 in a float32 problem.",
            "rounds; the error of a round with random signs",
            "Compute in the output's dtype, or rank it with --allow-reduced-precision.",
        ),
        no_custom_kernel=(
            "Right, but its own kernels did not do the work.",
            "rounds; no own launch or extension, or a right output without them",
            "Make the output depend on your kernel. PyTorch operators alone are not ranked.",
        ),
        degenerate_problem=(
            "Right, but the problem accepts a trivial answer, or its reference is uncertain.",
            "rounds; the problem's check",
            "Change the problem's random inputs, or leave the problem out.",
        ),
        untimed=(
            "As `ok`, but not timed (with --no-timing).",
            "rounds; the output without its own kernels",
            "Omit --no-timing to rank it.",
        ),
    ),
    **_group(
        Status.INCORRECT,
        wrong_shape=(
            "An output has another shape than the reference's.",
            "both shapes",
            "Allocate the output in the reference's shape; shapes never broadcast.",
        ),
        wrong_dtype=(
            "An output has another dtype than the reference's.",
            "both dtypes",
            "Return the reference's dtype; convert inside the kernel if it computes in another.",
        ),
        wrong_structure=(
            "forward() returned another structure than the reference.",
            "both structures",
            "Return the same nesting of dense tensors, dicts, and tuples or lists.",
        ),
        wrong_values=(
            "An output differs from the reference in float64 by more than the tolerance.",
            "error figures of a round",
            "Look at the first wrong index; check indexing, bounds, synchronisation and the formula.",
        ),
        precision_loss=(
            "Right to half precision, but not to the output's own dtype.",
            "error figures of a round",
            "Accumulate and store in the output's dtype; avoid low-accuracy approximations.",
        ),
        nan_or_inf=(
            "NaN or infinity where the reference is finite, or the reverse.",
            "error figures of a round",
            "Look for overflow in exp() (subtract the maximum), division by zero and uninitialised accumulators.",
        ),
        unwritten_output=(
            "Part of an output was never written.",
            "poison in the output memory",
            "Cover every element: round the grid up and check bounds in the last block.",
        ),
        nondeterministic=(
            "The same input gave different outputs, beyond the tolerance.",
            "two calls with one input; a wrong output's inputs again",
            "Look for a race: shared memory read, then written, needs a __syncthreads() between; blocks need atomics; adding while "
            "Triton autotunes needs reset_to_zero.",
        ),
        mutated_input=(
            "forward() changed one of its inputs.",
            "the input after the call",
            "Write to a new tensor, never in place to an input.",
        ),
        shape_specific=(
            "Right in the judged shapes, wrong in others (with --strict-shapes).",
            "an output in other shapes",
            "Take sizes from the tensors, round grids up, check bounds.",
        ),
    ),
    **_group(
        Status.BUILD_FAILED,
        const_pointer=(
            "A pointer to const is used where a non-const one is needed.",
            "compiler output",
            "Declare the pointer const (const float* row = ...), or drop const from the parameter.",
        ),
        undeclared_identifier=(
            "A name is not declared.",
            "compiler output",
            "Declare the name, include its header, or qualify it with its namespace.",
        ),
        missing_binding=(
            "functions=[...] names a function that cpp_sources does not declare.",
            "compiler output",
            "Put each function's prototype into cpp_sources.",
        ),
        load_inline_misuse=(
            "load_inline() was called with wrong arguments.",
            "exception of the call",
            "Call load_inline(name=..., cpp_sources=..., cuda_sources=..., functions=[...]).",
        ),
        missing_header=(
            "An included header does not exist.",
            "compiler output",
            "Include only headers of the C++ standard library, CUDA and PyTorch. The judge's `--headers DIR` adds others.",
        ),
        cuda_compile_error=(
            "A kernel does not compile (nvcc, NVRTC or a DSL).",
            "compiler output or exception",
            "Fix the first error in the compiler's output.",
        ),
        cpp_compile_error=("The C++ source does not compile.", "compiler output", "Fix the first error in the compiler's output."),
        link_error=(
            "The objects compiled but did not link or load.",
            "linker output",
            "Name each function in functions=[...], and define it once, with one signature in cpp_sources and cuda_sources.",
        ),
        build_timeout=("The compiler did not end in time.", "deadline of the build", "Reduce template instantiations and unrolling."),
    ),
    **_group(
        Status.RUN_FAILED,
        import_error=(
            "An import failed.",
            "exception while loading",
            "Import only the standard library, torch and installed packages.",
        ),
        init_error=(
            "ModelNew could not be constructed.",
            "exception of ModelNew(*get_init_inputs())",
            "Give ModelNew.__init__ the same parameters as the reference Model's.",
        ),
        python_exception=("The submission raised an exception.", "exception and traceback", "Fix the line that the traceback names."),
        oversized_block=(
            "A launch had more threads per block than the device allows.",
            "launch record",
            "Use at most 1024 threads per block and loop over the rest.",
        ),
        invalid_launch=(
            "A kernel launch was refused.",
            "launch record",
            "Check the device's limits; more than 48 KiB of dynamic shared memory needs cudaFuncSetAttribute.",
        ),
        illegal_memory_access=(
            "A kernel read or wrote memory that it does not own.",
            "CUDA error 700, 714 or 717 to 719",
            "Check every index against the tensor's size, and that each pointer is a device pointer.",
        ),
        misaligned_address=(
            "A kernel used an address that is not aligned for its access.",
            "CUDA error 716",
            "float4 loads need 16-byte aligned addresses; handle odd offsets and tails one by one.",
        ),
        device_assert=(
            "An assertion on the device failed.",
            "CUDA error 710 or 715",
            "Fix the condition that the assertion names.",
        ),
        out_of_memory=(
            "Memory ran out.",
            "allocator's exception, or the limit's kill",
            "Allocate less: no full-size temporaries where a tile or an in-kernel reduction is enough.",
        ),
        wrong_device=(
            "An output is on another device than the inputs.",
            "the output's device",
            "Return the output on the device of the inputs.",
        ),
        timeout=(
            "A stage ran longer than its time limit.",
            "deadline or CPU time limit",
            "Look for an endless loop, a deadlock in __syncthreads(), or far too little parallelism.",
        ),
        process_crash=(
            "A signal or the disk limit ended the process.",
            "exit signal of the worker, or the size of its private directory",
            "Look for host errors: a null, freed or device pointer, out-of-range data_ptr access.",
        ),
        early_exit=(
            "The process ended itself before it answered.",
            "exit code of the worker",
            "Remove exit() and os._exit() from the submission.",
        ),
    ),
    **_group(
        Status.REJECTED,
        no_code_block=("The answer holds no Python code block.", "the response", "Put a fenced Python block after the reasoning."),
        syntax_error=(
            "The Python source does not parse.",
            "parser message and line",
            "Fix the line named; check that the block was not cut off.",
        ),
        missing_model_new=("No class ModelNew is defined.", "the parsed source", "Define class ModelNew(nn.Module) at the top level."),
        unknown_problem=(
            "The submission names no known problem.",
            "path, manifest, header",
            "Name it by --problem, manifest.toml, a '# problem: NAME' comment, its folder or file. Your own problems need --reference DIR.",
        ),
        unreadable_file=(
            "The file could not be read.",
            "error of the system or parser",
            "Check the file's permissions and contents.",
        ),
        too_large=("The source is larger than the limit.", "size in bytes", "Stay below the limit named."),
    ),
    **_group(
        Status.DISQUALIFIED,
        timing_tampering=(
            "It answers otherwise when it is timed, or left out flushes of the L2 cache.",
            "a wrong output's inputs again: wrong in all of three timed calls, right in all of three others; flushes",
            "Do the same work in each call, timed or not.",
        ),
        cached_output=(
            "An output was not computed from its call's inputs, but kept from another call.",
            "a wrong output's inputs again: each time what the call before returned for other inputs",
            "Compute each output from that call's inputs.",
        ),
        deferred_work=(
            "Work was delayed until after the timed call. That time is charged now.",
            "time until the output arrived, or CPU time after the call",
            "Finish all work before forward() returns.",
        ),
        escaped_stream=(
            "Work ran on a stream that the timed call does not wait for. That time is charged now.",
            "work observed after the call",
            "Join side streams to the current stream before forward() returns.",
        ),
        forged_result=(
            "The submission wrote to the worker's result channel.",
            "the frame received",
            "Write only to file descriptors that the submission opened.",
        ),
        reference_access=(
            "The submission tried to reach the reference or the judge.",
            "exception of importing a module of the judge",
            "Don't import Assay's modules. The reference is not in the sandbox.",
        ),
        sandbox_violation=(
            "The submission made a system call that serves to leave the sandbox.",
            "the worker ended by SIGSYS",
            "Leave namespaces, mounts, tracing and other processes alone.",
        ),
        implausible_speed=(
            "Faster than the device can move the bytes or do the operations.",
            "time, and the device's floor",
            "Do the whole work in every call.",
        ),
    ),
    **_group(
        Status.NOT_EVALUATED,
        no_device=(
            "The device is missing, or has too little memory for the problem.",
            "the machine's devices",
            "Run on a machine with the device and enough memory; without a GPU, answers in C++ are judged.",
        ),
        no_toolchain=(
            "A compiler, header or package that kernels need is missing or broken.",
            "compiler search and output; the judge's own test of packages",
            "Install the toolkit named.",
        ),
        problem_error=(
            "The problem's file fails here; no submission to it can be judged.",
            "what its file raises or returns",
            "Mend the problem's file, or install what it lacks, as the message says.",
        ),
        infrastructure_error=(
            "The judge failed; the submission is not to blame.",
            "the judge's error",
            "Run again. `assay show ID` has the error.",
        ),
        interrupted=("The evaluation was interrupted.", "signal", "Run again."),
    ),
}
