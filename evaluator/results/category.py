"""The vocabulary of verdicts: every status, every category, and what each one means.

One table, `CATEGORIES`, holds all that the program says of a category: its status, its meaning, the evidence that it needs, and the hint
for repairing the submission. To add a category, add it to `Category` and to `CATEGORIES`, and add the rule that gives it: one module in
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
    """Why it ended so; each category belongs to exactly one status."""

    OK = "ok"
    REDUCED_PRECISION = "reduced_precision"
    NO_CUSTOM_KERNEL = "no_custom_kernel"
    DEGENERATE_PROBLEM = "degenerate_problem"

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
    INFRASTRUCTURE_ERROR = "infrastructure_error"
    INTERRUPTED = "interrupted"

    @property
    def status(self) -> Status:
        return CATEGORIES[self].status


@dataclass(frozen=True)
class CategoryInfo:
    """What the program says about one category."""

    status: Status
    meaning: str
    """One line, for a table."""
    evidence: str
    """What has to have been observed before this category may be given."""
    hint: str
    """What to change; empty where there is nothing to repair."""


def _group(status: Status, **rows: tuple[str, str, str]) -> dict[Category, CategoryInfo]:
    return {Category(name): CategoryInfo(status, *row) for name, row in rows.items()}


CATEGORIES: dict[Category, CategoryInfo] = {
    **_group(
        Status.CORRECT,
        ok=(
            "Every round agreed with the oracle, and without the submission's own kernels the answer is not right.",
            "rounds, launches, an answer without its own kernels",
            "",
        ),
        reduced_precision=(
            "Right on the problem's own inputs, by arithmetic that is narrower than the reference's, such as TF32 in a float32 problem.",
            "rounds; the error of a round with random signs, which no arithmetic in the output's own dtype makes",
            "Compute in the output's dtype, or have it ranked with --allow-reduced-precision.",
        ),
        no_custom_kernel=(
            "The answer is right, but owes nothing to a kernel of the submission's own.",
            "rounds; no launch from an extension of the submission (on the CPU: no extension built), or a right answer without them",
            "Call the compiled kernel in forward() and return what it computes; library operators alone are not ranked.",
        ),
        degenerate_problem=(
            "The answer is right, but the problem accepts one that takes no work.",
            "rounds; the problem's check, in which a trivial answer passed",
            "Nothing is wrong with it: draw the problem's inputs otherwise, or leave the problem out.",
        ),
    ),
    **_group(
        Status.INCORRECT,
        wrong_shape=(
            "An output has another shape than the reference's.",
            "shape claimed by the worker, shape of the reference output",
            "Allocate the output with the shape that the reference returns; shapes never broadcast.",
        ),
        wrong_dtype=(
            "An output has another dtype than the reference's.",
            "dtype claimed by the worker, dtype of the reference output",
            "Return the reference's dtype; convert inside the kernel if it computes in another.",
        ),
        wrong_structure=(
            "forward() returned another structure of outputs than the reference.",
            "structure claimed by the worker, structure of the reference output",
            "Return the same nesting of tensors, tuples, lists and dicts as the reference, and nothing else.",
        ),
        wrong_values=(
            "An output is further from the float64 oracle than honest arithmetic allows.",
            "error figures of a round",
            "Compare with the reference at the first wrong index; check indexing, bounds, synchronisation and the formula.",
        ),
        precision_loss=(
            "Right to within half precision, but not to the output's own dtype.",
            "error figures of a round, all of them small",
            "Accumulate and store in the output's dtype; avoid narrower types and low-accuracy approximations.",
        ),
        nan_or_inf=(
            "An output has NaN or infinity where the oracle is finite, or the other way round.",
            "error figures of a round",
            "Look for overflow in exp(), division by zero, uninitialised accumulators; subtract the maximum before exp().",
        ),
        unwritten_output=(
            "Part of an output was never written.",
            "poison found in the output memory",
            "Cover every element: round the grid up and guard the last block with a bounds check.",
        ),
        nondeterministic=(
            "The same input gave different answers, beyond tolerance.",
            "error figures of two calls with one input",
            "Add the missing __syncthreads() or atomics; don't let blocks race for one location.",
        ),
        mutated_input=(
            "forward() changed one of its inputs.",
            "the input after the call, against the judge's copy",
            "Write to a new tensor; an in-place operation on an input is not allowed here.",
        ),
        shape_specific=(
            "Right in the shapes that it is judged on, wrong in others; a fault only where --strict-shapes asks for both.",
            "an answer of a fresh worker in another set of shapes",
            "Take sizes from the tensors, round grids up, check bounds, and handle sizes that no tile divides.",
        ),
    ),
    **_group(
        Status.BUILD_FAILED,
        const_pointer=(
            "A pointer to const is used where one to non-const is needed.",
            "compiler output",
            "Declare the pointer const (const float* row = ...), or drop const from the parameter.",
        ),
        undeclared_identifier=(
            "A name is used that nothing declares.",
            "compiler output",
            "Declare the name, include its header, or qualify it with its namespace.",
        ),
        missing_binding=(
            "The generated binding names a function that cpp_sources does not declare.",
            "compiler output of the binding file",
            "Put the prototype of each function named in functions=[...] into cpp_sources.",
        ),
        load_inline_misuse=(
            "load_inline() was called with arguments that it does not take, or without one that it needs.",
            "exception raised by the call itself",
            "Call load_inline(name=..., cpp_sources=..., cuda_sources=..., functions=[...]).",
        ),
        missing_header=(
            "A header is included that does not exist.",
            "compiler output; the header belongs to no toolkit",
            "Include only headers of the C++ standard library, CUDA and PyTorch.",
        ),
        cuda_compile_error=(
            "A compiler refused a kernel's source: nvcc, NVRTC, Triton or Numba.",
            "compiler output, or the exception that a compiler raised in the worker",
            "Mend the first error in the compiler's output.",
        ),
        cpp_compile_error=("The C++ compiler refused the C++ source.", "compiler output", "Mend the first error in the compiler's output."),
        link_error=(
            "The objects compiled but did not link or load.",
            "linker output",
            "Define every function that is declared, once, with the same signature in cpp_sources and cuda_sources.",
        ),
        build_timeout=("The compiler did not end in time.", "deadline of the build", "Reduce template instantiations and unrolling."),
    ),
    **_group(
        Status.RUN_FAILED,
        import_error=(
            "A module that the submission imports could not be imported.",
            "exception raised while the file was loaded",
            "Import only the standard library, torch, and what the machine offers.",
        ),
        init_error=(
            "ModelNew could not be constructed.",
            "exception raised by ModelNew(*get_init_inputs())",
            "Give ModelNew.__init__ the same parameters as the reference Model's.",
        ),
        python_exception=("The submission raised an exception.", "exception and traceback", "Mend the line that the traceback names."),
        oversized_block=(
            "A kernel was launched with more threads a block than the device allows.",
            "launch record with its block size and the refusal",
            "Use at most 1024 threads a block and loop over the rest (grid-stride or block-stride).",
        ),
        invalid_launch=(
            "A kernel launch was refused.",
            "launch record with its numbers and the refusal",
            "Check the launch against the device's limits; more than 48 KiB of dynamic shared memory needs cudaFuncSetAttribute.",
        ),
        illegal_memory_access=(
            "A kernel read or wrote memory that it does not own.",
            "CUDA error 700, 714 or 717 to 719 from the worker's context",
            "Check every index against the tensor's size, and that each pointer is a device pointer.",
        ),
        misaligned_address=(
            "A kernel used an address that is not aligned for its access.",
            "CUDA error 716 from the worker's context",
            "Vector loads (float4) need 16-byte aligned addresses; handle odd offsets and tails one by one.",
        ),
        device_assert=(
            "An assertion on the device failed.",
            "CUDA error 710 or 715 from the worker's context",
            "Mend the condition that the assertion names.",
        ),
        out_of_memory=(
            "Memory ran out.",
            "exception of the allocator, or the memory limit's kill",
            "Allocate less: no full-size temporaries where a tile or an in-kernel reduction does.",
        ),
        wrong_device=(
            "An output is on another device than the inputs.",
            "device claimed by the worker",
            "Return the output on the device of the inputs.",
        ),
        timeout=(
            "A stage did not end in its time.",
            "deadline of the stage, or the limit on processor time",
            "Look for an endless loop, a deadlock in __syncthreads(), or far too little parallelism.",
        ),
        process_crash=(
            "The process was ended by a signal.",
            "exit signal of the worker",
            "Look for host-side errors: a null or freed pointer, a device pointer read on the host, out-of-range data_ptr access.",
        ),
        early_exit=(
            "The process ended itself before it answered.",
            "exit code of the worker",
            "Remove exit() and os._exit() from the submission.",
        ),
    ),
    **_group(
        Status.REJECTED,
        no_code_block=("The response holds no Python code block.", "the response", "Answer with one fenced Python block."),
        syntax_error=(
            "The Python source does not parse.",
            "parser message and line",
            "Mend the syntax at the line named; check that the block was not cut off.",
        ),
        missing_model_new=("No class ModelNew is defined.", "the parsed source", "Define class ModelNew(nn.Module) at the top level."),
        unknown_problem=(
            "Which problem the submission answers can't be told.",
            "path, manifest and header of the submission",
            "Name it with --problem, a manifest.toml, a '# problem: NAME' comment, or the parent folder.",
        ),
        unreadable_file=(
            "The file could not be read.",
            "error of the operating system or of the parser",
            "Check the file's permissions and contents.",
        ),
        too_large=("The source is larger than the limit.", "size in bytes", "Hand in less than the limit named."),
    ),
    **_group(
        Status.DISQUALIFIED,
        timing_tampering=(
            "The time claimed and the time observed disagree.",
            "claimed and observed times",
            "Leave clocks, events and streams alone.",
        ),
        cached_output=(
            "An answer was served that was not computed from its input.",
            "outputs of calls with changed inputs",
            "Compute every answer from the inputs of the call.",
        ),
        deferred_work=("Work was put off until after the timed call.", "time of the reveal", "Finish all work before forward() returns."),
        escaped_stream=(
            "Work ran on a stream that the timed call does not wait for.",
            "work observed after the call",
            "Join side streams to the current stream before forward() returns.",
        ),
        forged_result=(
            "Something other than the worker's own code spoke on the result channel.",
            "the frame received",
            "Don't write to descriptors that the submission did not open.",
        ),
        reference_access=(
            "The submission tried to reach the reference or the judge.",
            "exception raised by the import of a module of the judge's",
            "Import nothing of the judge's, and compute the answer; the reference is not there to be found.",
        ),
        sandbox_violation=(
            "The submission tried to do what the sandbox forbids.",
            "the worker's end by SIGSYS",
            "Leave namespaces, mounts, tracing and the memory of other processes alone.",
        ),
        implausible_speed=(
            "Faster than the device can move the problem's bytes or do its operations.",
            "time, and the device's floor",
            "Do the whole work in every call.",
        ),
    ),
    **_group(
        Status.NOT_EVALUATED,
        no_device=(
            "The device that the submission needs is not there, or has too little memory for the problem.",
            "devices of the machine, and their memory",
            "Run on a machine with the device, and with enough memory.",
        ),
        no_toolchain=(
            "The machine lacks a compiler, a header or a package that the kernels are compiled with, or has it broken.",
            "compiler search, compiler output, or the packages installed, which the judge tries for itself",
            "Install the toolkit named.",
        ),
        infrastructure_error=(
            "Something of the judge's own failed; the submission is not to blame.",
            "error of the judge",
            "Run again; see the log.",
        ),
        interrupted=("The evaluation was interrupted.", "signal", "Run again."),
    ),
}
