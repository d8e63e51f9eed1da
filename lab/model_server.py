#!/usr/bin/env python3
"""Scripted model server: lets real coding agents run offline and predictably.

Speaks, on 127.0.0.1 only, the streaming (and plain) forms of
  Anthropic Messages         POST /v1/messages
  OpenAI Responses           POST /v1/responses
  OpenAI Chat Completions    POST /v1/chat/completions
  Gemini generateContent     POST /v1beta/models/M:generateContent, :streamGenerateContent
plus the model-list and count-tokens calls agents make around them.

Use:
  python3 model_server.py [--port 8788] [--log requests.jsonl] [--raw DIR]
      --port 0 picks a free port; the first stdout line is "listening 127.0.0.1 PORT".
      --log appends one JSON line per request (path, tools, history as seen, actions sent).
      --raw keeps every request body as DIR/NNNN.json.

The script is in the PROMPT, so the server holds no state and any number of agents
may share it. Directives in the last user message are carried out in order:
  [[say TEXT]]          stream TEXT (in small pieces)
  [[think TEXT]]        stream TEXT as reasoning, where the protocol has it
  [[wait SECONDS]]      pause mid-stream (agent shows "working")
  [[run COMMAND]]       call the agent's shell tool
  [[write PATH TEXT]]   call the agent's file-writing tool
  [[tool NAME JSON]]    call tool NAME with these arguments (which may hold directives for a subagent)
  [[recall]]            stream the earlier user prompts, numbered (proves a resume)
  [[error STATUS TEXT]] answer with that HTTP status
Each tool call ends one model reply; the next request, which carries the tool's result,
goes on with the directives after it. A prompt without directives gets "hello (turn N)",
N being the number of user prompts in the request. Requests for JSON (a schema in the
request) get the smallest instance of the schema; requests without tools get "hello" only.
"""
import argparse, gzip, json, re, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DIRECTIVE = re.compile(r"(say|think|wait|run|write|tool|recall|error)\b[ \t]*(.*)", re.S)
INJECTED = re.compile(r"<(system-reminder|environment_context|user_instructions|permissions instructions|"
                      r"session_context|hook_context|skills_instructions|local-command-[a-z]+|command-[a-z]+)\b.*?</\1>", re.S)
SHELL_TOOLS = ["Bash", "bash", "shell", "local_shell", "exec_command", "shell_command", "run_shell_command",
               "developer__shell", "execute_command", "powershell"]
WRITE_TOOLS = ["Write", "write", "write_file", "create", "create_file", "developer__text_editor", "apply_patch"]
ids = iter(range(1, 1 << 60))
lock = threading.Lock()


# ---- requests, each protocol reduced to a list of (kind, text); kind: user, assistant, call, result

def text_of(content):
    if isinstance(content, str):
        return content
    return "\n".join(p.get("text") or "" for p in content or [] if isinstance(p, dict))


def add_user(history, text):
    text = INJECTED.sub("", text).strip()
    if text and not text.startswith("# AGENTS.md instructions"):
        history.append(("user", text))


def read_anthropic(body):
    history = []
    for m in body.get("messages", []):
        parts = m["content"]
        parts = [{"type": "text", "text": parts}] if isinstance(parts, str) else parts
        for p in parts:
            kind = p.get("type")
            if kind == "tool_use":
                history.append(("call", p["name"]))
            elif kind == "tool_result":
                history.append(("result", text_of(p.get("content"))))
            elif kind == "text" and m["role"] == "user":
                add_user(history, p["text"])
            elif kind == "text" and m["role"] == "assistant":
                history.append(("assistant", p["text"]))
    tools = {t["name"]: t.get("input_schema", {}) for t in body.get("tools", [])}
    fmt = (body.get("output_config") or {}).get("format") or body.get("output_format") or {}
    return history, tools, fmt.get("schema")


def read_responses(body):
    history, items = [], body.get("input", [])
    for i in [{"role": "user", "content": items}] if isinstance(items, str) else items:
        kind = i.get("type", "message")
        if kind.endswith("_call"):
            history.append(("call", i.get("name") or kind))
        elif kind.endswith("_output"):
            out = i.get("output")
            history.append(("result", out if isinstance(out, str) else json.dumps(out)))
        elif i.get("role") == "user":
            add_user(history, text_of(i["content"]))
        elif i.get("role") == "assistant":
            history.append(("assistant", text_of(i["content"])))
    tools = {}
    for t in body.get("tools", []):
        if t["type"] == "namespace":               # Codex groups a server's MCP tools: mcp__SERVER holds its tools
            tools.update({t["name"] + "__" + f["name"]: dict(f.get("parameters") or {}, namespace=t["name"])
                          for f in t["tools"]})
        else:
            tools[t.get("name") or t["type"]] = t.get("parameters") or {"custom": t["type"] == "custom"}
    fmt = (body.get("text") or {}).get("format") or {}
    return history, tools, fmt.get("schema")


def read_chat(body):
    history = []
    for m in body.get("messages", []):
        if m["role"] == "user":
            add_user(history, text_of(m.get("content")))
        elif m["role"] == "tool":
            history.append(("result", text_of(m.get("content"))))
        elif m["role"] == "assistant":
            if m.get("content"):
                history.append(("assistant", text_of(m["content"])))
            history += [("call", c["function"]["name"]) for c in m.get("tool_calls") or []]
    tools = {t["function"]["name"]: t["function"].get("parameters", {})
             for t in body.get("tools") or [] if "function" in t}
    fmt = (body.get("response_format") or {}).get("json_schema") or {}
    return history, tools, fmt.get("schema")


def read_gemini(body):
    history = []
    for c in body.get("contents", []):
        for p in c.get("parts", []):
            if "functionCall" in p:
                history.append(("call", p["functionCall"]["name"]))
            elif "functionResponse" in p:
                history.append(("result", json.dumps(p["functionResponse"].get("response"))))
            elif "text" in p and c.get("role", "user") == "user":
                add_user(history, p["text"])
            elif "text" in p and not p.get("thought"):
                history.append(("assistant", p["text"]))
    tools = {f["name"]: f.get("parametersJsonSchema") or f.get("parameters") or {}
             for t in body.get("tools") or [] for f in t.get("functionDeclarations", [])}
    cfg = body.get("generationConfig") or {}
    return history, tools, cfg.get("responseJsonSchema") or cfg.get("responseSchema")


# ---- the script: what to answer

def directives(text):
    """The outermost [[word rest]] pieces as (word, rest); pieces inside them stay text (for a subagent's prompt)."""
    found, depth, start = [], 0, 0
    for m in re.finditer(r"\[\[|\]\]", text):
        if m.group() == "[[":
            start = start if depth else m.end()
            depth += 1
        elif depth:
            depth -= 1
            inner = None if depth else DIRECTIVE.fullmatch(text[start:m.start()])
            found += [inner.groups()] if inner else []
    return found


def instance(schema):
    kind = schema.get("type", "object")
    kind = (kind[0] if isinstance(kind, list) else kind).lower()
    if "enum" in schema:
        return schema["enum"][0]
    if kind == "object":
        return {k: instance(v) for k, v in schema.get("properties", {}).items()}
    low = schema.get("minimum", 0)
    return {"string": "hello", "boolean": False, "array": [], "number": low, "integer": low}.get(kind)


def fill(schema, values):
    """Arguments for a tool: known values by property name, the smallest instance for other required ones."""
    props, args = schema.get("properties", {}), {}
    for name, prop in props.items():
        if name in values:
            as_list = prop.get("type", "").lower() == "array" if isinstance(prop.get("type"), str) else False
            args[name] = ["bash", "-lc", values[name]] if as_list else values[name]
        elif name in schema.get("required", []):
            args[name] = instance(prop)
    return args


def tool_call(word, rest, tools):
    if word == "tool":
        name, _, arg = rest.partition(" ")
        try:
            return name, json.loads(arg or "{}")
        except ValueError:
            return None
    wanted = SHELL_TOOLS if word == "run" else WRITE_TOOLS
    name = next((t for t in wanted if t in tools), None)
    if not name:
        return None
    if word == "run":
        values = {"command": rest, "cmd": rest, "description": "scripted command"}
    else:
        path, _, text = rest.partition(" ")
        if name == "apply_patch":
            patch = "*** Begin Patch\n*** Add File: %s\n+%s\n*** End Patch\n" % (path, text)
            return name, patch if tools[name].get("custom") else {"input": patch}
        values = {"file_path": path, "filePath": path, "path": path, "absolute_path": path,
                  "content": text, "file_text": text, "command": "create"}
    return name, fill(tools[name], values)


def plan(history, tools, schema):
    """The actions of this reply: (say|think|wait, text), (call, name, args), (error, status, text)."""
    if schema:
        return [("say", json.dumps(instance(schema)))]
    users = [i for i, h in enumerate(history) if h[0] == "user"]
    if not users or not tools:
        return [("say", "hello")]
    steps = directives(history[users[-1]][1]) or [("say", "hello (turn %d)" % len(users))]
    done = sum(h[0] == "call" for h in history[users[-1]:])
    actions = []
    for word, rest in steps:
        is_call = word in ("run", "write", "tool")
        if done:                                   # already sent in an earlier reply of this turn
            done -= is_call
        elif is_call:
            call = tool_call(word, rest, tools)
            if call:
                return actions + [("call",) + call]
            actions.append(("say", "(cannot %s %s; tools: %s)" % (word, rest, ", ".join(tools))))
        elif word == "recall":
            lines = ["%d. %s" % (n, history[i][1]) for n, i in enumerate(users[:-1], 1)]
            actions.append(("say", "earlier prompts: " + ("\n".join(lines) or "none")))
        elif word == "error":
            status, _, text = rest.partition(" ")
            return [("error", int(status), text or "scripted error")]
        else:
            actions.append((word, rest))
    return actions or [("say", "done")]


def pieces(text):
    return re.findall(r"\S+\s*|\s+", text) or [""]


def call_id():
    return "call_%06d" % next(ids)


# ---- replies: generators of (event name or None, JSON object)

def send_anthropic(actions, model, _tools):
    usage = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    yield "message_start", {"message": {"id": "msg_%06d" % next(ids), "type": "message", "role": "assistant",
                            "model": model, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}}
    index, stop = 0, "end_turn"
    for a in actions:
        if a[0] == "wait":
            time.sleep(float(a[1]))
            continue
        if a[0] == "call":
            stop = "tool_use"
            block = {"type": "tool_use", "id": "toolu_%06d" % next(ids), "name": a[1], "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": json.dumps(a[2])}]
        elif a[0] == "think":
            block = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": p} for p in pieces(a[1])]
            deltas.append({"type": "signature_delta", "signature": "c2NyaXB0"})
        else:
            block = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": p} for p in pieces(a[1])]
        yield "content_block_start", {"index": index, "content_block": block}
        for d in deltas:
            yield "content_block_delta", {"index": index, "delta": d}
        yield "content_block_stop", {"index": index}
        index += 1
    yield "message_delta", {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage}
    yield "message_stop", {}


def plain_anthropic(actions, model, tools):
    msg = {}
    for name, data in send_anthropic(actions, model, tools):
        if name == "message_start":
            msg = data["message"]
        elif name == "content_block_start":
            msg["content"].append(data["content_block"])
        elif name == "content_block_delta":
            block, d = msg["content"][-1], data["delta"]
            for key in ("text", "thinking", "signature"):
                if key in d:
                    block[key] += d[key]
            if "partial_json" in d:
                block["input"] = json.loads(d["partial_json"])
        elif name == "message_delta":
            msg.update(data["delta"])
    return msg


def send_responses(actions, model, tools):
    resp = {"id": "resp_%06d" % next(ids), "object": "response", "created_at": int(time.time()), "model": model,
            "status": "in_progress", "output": []}
    yield "response.created", {"response": resp}
    for n, a in enumerate(actions):
        if a[0] == "wait":
            time.sleep(float(a[1]))
            continue
        item_id = "item_%06d" % next(ids)
        if a[0] == "call":
            kind = ("custom_tool_call", "input") if isinstance(a[2], str) else ("function_call", "arguments")
            item = {"type": kind[0], "id": item_id, "call_id": call_id(), "name": a[1], "status": "completed",
                    kind[1]: a[2] if isinstance(a[2], str) else json.dumps(a[2])}
            space = tools.get(a[1], {}).get("namespace")
            if space:
                item.update(namespace=space, name=a[1][len(space) + 2:])
            yield "response.output_item.added", {"output_index": n, "item": dict(item, status="in_progress")}
        elif a[0] == "think":
            item = {"type": "reasoning", "id": item_id, "summary": [{"type": "summary_text", "text": a[1]}]}
            yield "response.output_item.added", {"output_index": n, "item": dict(item, summary=[])}
            yield "response.reasoning_summary_part.added", {"item_id": item_id, "output_index": n, "summary_index": 0,
                                                            "part": {"type": "summary_text", "text": ""}}
            for p in pieces(a[1]):
                yield "response.reasoning_summary_text.delta", {"item_id": item_id, "output_index": n,
                                                                "summary_index": 0, "delta": p}
            yield "response.reasoning_summary_part.done", {"item_id": item_id, "output_index": n, "summary_index": 0,
                                                           "part": item["summary"][0]}
        else:
            part = {"type": "output_text", "text": a[1], "annotations": []}
            item = {"type": "message", "id": item_id, "role": "assistant", "status": "completed", "content": [part]}
            where = {"item_id": item_id, "output_index": n, "content_index": 0}
            yield "response.output_item.added", {"output_index": n, "item": dict(item, content=[], status="in_progress")}
            yield "response.content_part.added", dict(where, part=dict(part, text=""))
            for p in pieces(a[1]):
                yield "response.output_text.delta", dict(where, delta=p)
            yield "response.output_text.done", dict(where, text=a[1])
            yield "response.content_part.done", dict(where, part=part)
        resp["output"].append(item)
        yield "response.output_item.done", {"output_index": n, "item": item}
    resp.update(status="completed", usage={"input_tokens": 10, "output_tokens": 5, "total_tokens": 15,
                "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}})
    yield "response.completed", {"response": resp}


def plain_responses(actions, model, tools):
    return list(send_responses(actions, model, tools))[-1][1]["response"]


def send_chat(actions, model, _tools):
    head = {"id": "chatcmpl-%06d" % next(ids), "object": "chat.completion.chunk", "created": int(time.time()), "model": model}

    def chunk(delta, finish=None):
        return None, dict(head, choices=[{"index": 0, "delta": delta, "finish_reason": finish}])
    yield chunk({"role": "assistant", "content": ""})
    finish = "stop"
    for a in actions:
        if a[0] == "wait":
            time.sleep(float(a[1]))
        elif a[0] == "call":
            finish = "tool_calls"
            yield chunk({"tool_calls": [{"index": 0, "id": call_id(), "type": "function",
                                         "function": {"name": a[1], "arguments": json.dumps(a[2])}}]})
        else:
            key = "reasoning_content" if a[0] == "think" else "content"
            for p in pieces(a[1]):
                yield chunk({key: p})
    yield chunk({}, finish)
    yield None, dict(head, choices=[], usage={"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15})
    yield None, "[DONE]"


def plain_chat(actions, model, _tools):
    msg = {"role": "assistant", "content": "".join(a[1] for a in actions if a[0] == "say")}
    calls = [{"id": call_id(), "type": "function", "function": {"name": a[1], "arguments": json.dumps(a[2])}}
             for a in actions if a[0] == "call"]
    if calls:
        msg["tool_calls"] = calls
    return {"id": "chatcmpl-%06d" % next(ids), "object": "chat.completion", "created": int(time.time()), "model": model,
            "choices": [{"index": 0, "message": msg, "finish_reason": "tool_calls" if calls else "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}}


def send_gemini(actions, model, _tools):
    def chunk(parts, finish=None):
        candidate = {"index": 0, "content": {"role": "model", "parts": parts}}
        if finish:
            candidate["finishReason"] = finish
        return None, {"candidates": [candidate], "modelVersion": model, "responseId": "resp%06d" % next(ids),
                      "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}}
    for a in actions:
        if a[0] == "wait":
            time.sleep(float(a[1]))
        elif a[0] == "call":
            yield chunk([{"functionCall": {"id": call_id(), "name": a[1], "args": a[2]}}])
        else:
            for p in pieces(a[1]):
                yield chunk([{"text": p, "thought": True} if a[0] == "think" else {"text": p}])
    yield chunk([{"text": ""}], "STOP")


def plain_gemini(actions, model, tools):
    chunks = [c for _, c in send_gemini(actions, model, tools)]
    chunks[-1]["candidates"][0]["content"]["parts"] = [
        p for c in chunks[:-1] for p in c["candidates"][0]["content"]["parts"]] or [{"text": ""}]
    return chunks[-1]


PROTOCOLS = [  # path pattern, reader, streaming sender, plain sender
    (re.compile(r"/messages$"), read_anthropic, send_anthropic, plain_anthropic),
    (re.compile(r"/responses$"), read_responses, send_responses, plain_responses),
    (re.compile(r"/chat/completions$"), read_chat, send_chat, plain_chat),
    (re.compile(r"/models/[^/]+:(stream)?[gG]enerateContent$"), read_gemini, send_gemini, plain_gemini),
]
MODELS = ["claude-sonnet-4-5", "claude-haiku-4-5", "gpt-5", "gemini-2.5-pro", "gemini-2.5-flash", "scripted"]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, obj):
        data = json.dumps(obj).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def note(self, **fields):
        fields = dict(t=round(time.time(), 3), method=self.command, path=self.path,
                      agent=self.headers.get("user-agent", ""), **fields)
        if self.server.log:
            with lock, open(self.server.log, "a") as f:
                f.write(json.dumps(fields) + "\n")

    def do_GET(self):
        self.note()
        if self.headers.get("upgrade"):            # no WebSocket here; clients fall back to plain HTTP
            return self.reply(426, {"error": {"message": "no websocket"}})
        if self.path.split("?")[0].endswith("/models"):
            return self.reply(200, {"object": "list", "has_more": False,
                              "data": [{"id": m, "object": "model", "type": "model", "display_name": m,
                                        "created": 0, "owned_by": "scripted"} for m in MODELS],
                              "models": [{"name": "models/" + m, "displayName": m} for m in MODELS]})
        self.reply(200 if self.path == "/" else 404, {})

    do_HEAD = do_GET

    def body(self):
        if "chunked" in self.headers.get("transfer-encoding", ""):
            data = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("content-encoding") == "gzip":
            data = gzip.decompress(data)
        return data

    def do_POST(self):
        data, path = self.body(), self.path.split("?")[0]
        try:
            body = json.loads(data or b"{}")
        except ValueError:
            body = {}
        if path.endswith("/count_tokens") or path.endswith(":countTokens"):
            self.note()
            return self.reply(200, {"input_tokens": 10, "totalTokens": 10})
        found = next((p for p in PROTOCOLS if p[0].search(path)), None)
        if not found or not isinstance(body, dict):
            self.note(unknown=True)
            return self.reply(404, {"error": {"message": "no such call"}})
        if self.server.raw:
            with lock, open("%s/%04d.json" % (self.server.raw, next(ids)), "wb") as f:
                f.write(data)
        history, tools, schema = found[1](body)
        actions = plan(history, tools, schema)
        model = body.get("model") or path.rsplit("/", 1)[-1].split(":")[0]
        self.note(model=model, tools=sorted(tools), history=history, actions=actions)
        if actions[0][0] == "error":
            return self.reply(actions[0][1], {"type": "error", "error": {
                "type": "api_error", "code": actions[0][1], "message": actions[0][2]}})
        if not (body.get("stream") or "streamGenerateContent" in path):
            return self.reply(200, found[3](actions, model, tools))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            for name, obj in found[2](actions, model, tools):
                if name:
                    obj = dict(obj, type=name)
                    self.wfile.write(b"event: %s\n" % name.encode())
                text = obj if isinstance(obj, str) else json.dumps(obj)
                self.wfile.write(b"data: %s\n\n" % text.encode())
                self.wfile.flush()
        except (BrokenPipeError, ConnectionResetError):
            self.note(hung_up=True)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--port", type=int, default=8788)
    ap.add_argument("--log")
    ap.add_argument("--raw")
    args = ap.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", args.port), Handler)
    server.daemon_threads, server.log, server.raw = True, args.log, args.raw
    print("listening 127.0.0.1 %d" % server.server_port, flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        sys.exit(0)


if __name__ == "__main__":
    main()
