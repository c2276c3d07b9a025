"""The program under test, for fixtures and tests."""
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
TESTS = str(CHECKOUT / "tests")


@dataclass
class Result:
    """What a finished program left."""
    code: int
    out: str
    err: str

    def json(self):
        return json.loads(self.out)

    def lines(self) -> list:
        return [json.loads(line) for line in self.out.splitlines()]


class Program:
    """Runs the program in a folder of its own: `quorate("simulate", "--data", "a.csv")`."""

    def __init__(self, path: Path, folder: Path):
        self.path = path
        self.folder = folder
        self.started: list[subprocess.Popen] = []

    def __call__(self, *args, stdin: bytes = b"", cwd: Path | None = None, timeout: float = 60) -> Result:
        done = subprocess.run([self.path, *map(str, args)], input=stdin, capture_output=True, timeout=timeout,
                              cwd=cwd or self.folder, check=False)
        # What is no UTF-8 becomes what no test takes for a printable character.
        return Result(done.returncode, *(pipe.decode(errors="surrogateescape") for pipe in (done.stdout, done.stderr)))

    def ok(self, *args, **kwargs) -> Result:
        """The same for a run that must end well."""
        result = self(*args, **kwargs)
        assert result.code == 0, f"exit code {result.code}: {result.err}"
        return result

    def start(self, *args, **kwargs) -> subprocess.Popen:
        """A running program with pipes (or what `kwargs` says); killed at the end of the test if it still runs."""
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        process = subprocess.Popen([self.path, *map(str, args)], cwd=self.folder, **(pipes | kwargs))
        self.started.append(process)
        return process

    def close(self) -> None:
        for process in self.started:
            if process.poll() is None:
                process.kill()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe:
                    try:
                        pipe.close()
                    except BrokenPipeError:
                        pass
            process.wait()
