"""A server of its own for scripts that speak to one: the binary on an embedded database in a temporary folder."""

import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAME = f"scripts/{pathlib.Path(sys.argv[0]).name}"


def binary_or_built(arguments):
    """The binary that the first argument names, else a fresh build."""
    if arguments:
        return arguments[0]
    subprocess.run(["cargo", "build", "-p", "offhook", "--locked"], cwd=ROOT, check=True)
    metadata = subprocess.run(["cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"], cwd=ROOT,
                              check=True, stdout=subprocess.PIPE).stdout
    return os.path.join(json.loads(metadata)["target_directory"], "debug", "offhook")


class Server:
    """Running, until it is left as a context."""

    def __init__(self, binary, folder, settings):
        self.binary, self.folder = pathlib.Path(binary).resolve(), folder
        (folder / "offhook.toml").write_text(f'data_dir = "{folder}/data"\n' + settings)
        self.log = open(folder / "log", "w")
        command = [self.binary, "serve", "--config", folder / "offhook.toml"]
        self.process = subprocess.Popen(command, stderr=self.log, env=environment())
        listen = folder / "data" / "listen"
        self.wait(lambda: listen.exists() and listen.read_text().strip(), "the server did not start")
        self.url = f"http://{listen.read_text().strip()}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)

    @staticmethod
    def wait(condition, words):
        for _ in range(600):
            found = condition()
            if found:
                return found
            time.sleep(0.05)
        sys.exit(f"{NAME}: {words}")

    def cli(self, *words):
        """What a command prints."""
        command = [self.binary, *words, "--config", self.folder / "offhook.toml", "--json"]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=self.log, env=environment())
        return json.loads(done.stdout)


def environment():
    """Without settings of the shell that this was called from."""
    return {name: value for name, value in os.environ.items() if not name.startswith("OFFHOOK_")}


def python_with(name, version, *more):
    """The `bin` folder of an environment of Python with this package, made once a version."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    home = cache / "offhook" / f"{name}-{version}"
    done = home / "installed"
    wanted = " ".join([f"{name}=={version}", *more])
    if not done.exists() or done.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        subprocess.run([home / "bin" / "pip", "install", "-q", *wanted.split(" ")], check=True)
        done.write_text(wanted)
    return home / "bin"
