"""An agent in miniature that keeps its shell commands in a sandbox, as careful harnesses do.

Its one command tries to return from inside; then it returns what that command said through the
tools of `creel mcp`, which it starts outside, as harnesses start their MCP servers.
"""
import json
import os
import subprocess
import sys

SANDBOX = ["bwrap", "--ro-bind", "/", "/", "--bind", os.getcwd(), os.getcwd(), "--dev", "/dev",
           "--proc", "/proc", "--unshare-net", "--unshare-pid", "--die-with-parent"]


class Server:
    """A JSON-RPC client of `creel mcp`."""

    def __init__(self):
        self.process = subprocess.Popen(["creel", "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.calls = 0

    def send(self, method, params, **more):
        message = {"jsonrpc": "2.0", "method": method, "params": params, **more}
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def call(self, method, params):
        self.calls += 1
        self.send(method, params, id=self.calls)
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.calls:
                return answer["result"]

    def close(self):
        self.process.stdin.close()
        return self.process.wait()


sys.stdin.read()
shell = subprocess.run(SANDBOX + ["sh", "-c", "creel session return --finish 'from inside'"],
                       capture_output=True, text=True)
server = Server()
server.call("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                           "clientInfo": {"name": "boxed", "version": "1"}})
server.send("notifications/initialized", {})
tools = sorted(tool["name"] for tool in server.call("tools/list", {})["tools"])
report = json.dumps({"code": shell.returncode, "stdout": shell.stdout, "stderr": shell.stderr, "tools": tools})
answer = server.call("tools/call", {"name": "return", "arguments": {"result": report}})
sys.exit(server.close() or bool(answer.get("isError")))
