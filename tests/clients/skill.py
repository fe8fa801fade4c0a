"""Does what skills/offhook/SKILL.md says, from an empty folder, with its files: python skill.py SKILL URL KEY"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

skill, url, key = sys.argv[1:]
binary = os.environ["OFFHOOK_BINARY"]
text = pathlib.Path(skill).read_text()
files = re.findall(r"`(agents/[^`]+)`[^\n]*\n\n```\w+\n(.*?)```", text, re.S)
commands = 0
agent = "ID"


def offhook(words, expected=0):
    """What a command prints, which the skill must name as it is here, but for the agent's id and --json."""
    global commands
    commands += 1
    named = words.removesuffix(" --json")
    assert re.search(rf"^offhook {re.escape(named)}(\s|$)", text, re.M), f"the skill has no `offhook {named}`"
    environment = os.environ | {"OFFHOOK_API_URL": url, "OFFHOOK_API_KEY": key}
    words = [agent if word == "ID" else word for word in words.split(" ")]
    done = subprocess.run([binary, *words], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == expected, (words, done.returncode, done.stdout)
    return done.stdout


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for path, content in files:
        pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
        pathlib.Path(path).write_text(content)
    offhook("agents plan agents", 3)
    offhook("agents apply agents")
    listed = json.loads(offhook("agents list --json"))
    [agent] = [one["id"] for one in listed if one["name"] == "Front desk"]
    assert "passed" in offhook("test agents/front-desk --runs 5")
    [scenario] = pathlib.Path("agents/front-desk/scenarios").iterdir()
    good = scenario.read_text()
    scenario.write_text(good.replace("text: sent", "text: lost"))
    offhook("test agents/front-desk --runs 5", 1)
    scenario.write_text(good.replace("kind: said", "kind: says"))
    offhook("test agents/front-desk --runs 5", 2)
    scenario.write_text(good)
    offhook("agents apply agents --publish")
    assert "completed" in offhook("call --agent ID --to +14155550123 --follow")
    offhook("agents plan agents")
print(f"{commands} commands, all as the skill has them")
