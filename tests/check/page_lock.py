#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""page_lock.py SOURCE - npm's packages of the page and of tests are pinned: exact versions, a checksum each, and no address to load them from"""
import json
import pathlib
import re
import sys

wrong = []
locks = [p for p in pathlib.Path(sys.argv[1]).glob("*/**/package-lock.json") if not {"node_modules", "build"} & set(p.parts)]
if not any(str(p).endswith("view/web/package-lock.json") for p in locks):
    wrong.append("view/web/package-lock.json is missing")
for lock in locks:
    text = lock.read_text()
    packages = json.loads(text)["packages"]
    wanted = json.loads((lock.parent / "package.json").read_text())
    wrong += [f"{lock}: an address: {address}" for address in re.findall(r'https?://[^"]*', "\n".join(
        line for line in text.splitlines() if '"url"' not in line))]
    wrong += [f"{lock}: {name} has no checksum" for name, p in packages.items() if name and not p.get("integrity", "").startswith("sha512-")]
    for kind in ("dependencies", "devDependencies"):
        for name, version in wanted.get(kind, {}).items():
            if not re.fullmatch(r"\d+\.\d+\.\d+", version) or packages.get(f"node_modules/{name}", {}).get("version") != version:
                wrong.append(f"{lock}: {name} {version} is not the version that is locked")
print("\n".join(wrong) or f"{sum(len(json.loads(p.read_text())['packages']) - 1 for p in locks)} packages in {len(locks)} files")
sys.exit(bool(wrong))
