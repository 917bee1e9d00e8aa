"""Problems as tasks for a model: the prompt, and the feedback after a failed answer."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay_client.models import Evaluation, Options, Submission

PROMPT = """\
Write a faster version of this PyTorch module: a class `ModelNew` with the same interface, with kernels of your own.
Compile CUDA or C++ with torch.utils.cpp_extension.load_inline, or use Triton.
Its answers have to be those of `Model`, in the same dtype and with the same accuracy.
Answer with one Python code block that holds the whole file.

```python
{problem}
```
"""
"""The prompt; `{problem}` stands for the problem's file."""
FOLLOW_UP = """\
The judge says of your answer:

{feedback}

Answer with one Python code block that holds the whole {better} file.
"""
PLACE = "{problem}"
NEEDED = ("class Model", "def get_inputs", "def get_init_inputs")
"""Names in a problem's file, in KernelBench's form."""


class TaskError(ValueError):
    """The problems can't be read; the message is for the user."""


@dataclass(frozen=True)
class Task:
    """One problem for a model."""

    name: str
    source: str
    """Python, in KernelBench's form."""
    known: bool = True
    """Whether the service knows the problem's name. If not, its source is sent along, which needs the token's scope `reference`."""
    template: str = field(default=PROMPT, repr=False)

    @property
    def prompt(self) -> str:
        """The model's prompt."""
        return self.template.replace(PLACE, self.source.strip())

    def submission(
        self, response: str, options: Options | None = None, sample_id: int | None = None, name: str | None = None
    ) -> Submission:
        """The submission of a model's response."""
        how = options or Options()
        return Submission(response=response, problem=self._name, reference=self._reference, options=how, sample_id=sample_id, name=name)

    def answer(self, source: str) -> Submission:
        """The submission of a file."""
        return Submission(source=source, problem=self._name, reference=self._reference)

    @property
    def _name(self) -> str | None:
        return self.name if self.known else None

    @property
    def _reference(self) -> str | None:
        return None if self.known else self.source


def read_tasks(paths: Iterable[Path], known: Collection[str] | None = None, template: str = PROMPT) -> list[Task]:
    """The problems in files and folders, with subfolders; in order, each once.

    known: the names that the service knows; None: all are known. Raises TaskError for a file without a problem, two with the same
    name, a folder without any, and a template without its placeholder.
    """
    if PLACE not in template:
        raise TaskError(f"the prompt has no {PLACE}, which the problem's file would replace")
    found: dict[str, tuple[Path, Task]] = {}
    for path in dict.fromkeys(file for each in paths for file in _files(each)):
        task = Task(path.stem, _text(path), known is None or path.stem in known, template)
        other, _ = found.setdefault(task.name, (path, task))
        if other != path:
            raise TaskError(f"{other} and {path} have the same problem name")
    return [task for _, task in found.values()]


def _files(path: Path) -> Sequence[Path]:
    if not path.is_dir():
        if not _is_problem(_text(path)):
            raise TaskError(f"{path}: a problem needs {', '.join(NEEDED)}")
        return [path]
    files = [file for file in sorted(path.rglob("*.py")) if _is_problem(_text(file))]
    if not files:
        raise TaskError(f"{path}: holds no problem: a problem's file has {', '.join(NEEDED)}")
    return files


def _is_problem(text: str) -> bool:
    return all(word in text for word in NEEDED)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise TaskError(f"{path}: can't be read: {error.strerror or error}") from error


def is_solved(evaluation: Evaluation) -> bool:
    """Whether it is right and ranked: `correct/ok`."""
    return evaluation.result is not None and (evaluation.result.status, evaluation.result.category) == ("correct", "ok")


def follow_up(feedback: str, solved: bool = False) -> str:
    """The model's next prompt after an answer: for a repaired one, or for a faster one if it was solved."""
    return FOLLOW_UP.format(feedback=feedback.strip(), better="faster" if solved else "repaired")
