// The TypeScript SDK's clients, of both majors, against one server. Prints one line of JSON per connection.
// Usage: node clients.mjs BASE_URL COMMAND
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport as OldSse } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport as OldStdio } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as OldHttp } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as current from "@modelcontextprotocol/client";
import { StdioClientTransport as Stdio } from "@modelcontextprotocol/client/stdio";

const [base, command] = process.argv.slice(2);
const identity = { name: "typescript", version: "1" };
const stdio = { command, args: [], env: process.env, stderr: "inherit" };

const connections = {
  "sdk-1 http": [() => new OldClient(identity), () => new OldHttp(new URL(`${base}/mcp`))],
  "sdk-1 sse": [() => new OldClient(identity), () => new OldSse(new URL(`${base}/sse`))],
  "sdk-1 stdio": [() => new OldClient(identity), () => new OldStdio(stdio)],
  "client-2 http": [modern, () => new current.StreamableHTTPClientTransport(new URL(`${base}/mcp`))],
  "client-2 sse": [modern, () => new current.SSEClientTransport(new URL(`${base}/sse`))],
  "client-2 stdio": [modern, () => new Stdio(stdio)],
};

function modern() {
  return new current.Client(identity, { versionNegotiation: { mode: "auto" } });
}

async function failure(attempt) {
  try {
    await attempt();
    return null;
  } catch (error) {
    return error.message;
  }
}

for (const [name, [client, transport]] of Object.entries(connections)) {
  const mcp = client();
  await mcp.connect(transport());
  const suites = await mcp.callTool({ name: "suite_list", arguments: { limit: 50 } });
  const refused = await mcp.callTool({ name: "run_status", arguments: { run_id: "run_x" } });
  const ref = { type: "ref/resource", uri: "llmbench://suite/{name}" };
  const completed = await mcp.complete({ ref, argument: { name: "name", value: "coding" } });
  const suite = completed.completion.values[0];
  const read = await mcp.readResource({ uri: `llmbench://suite/${suite}` });
  const prompt = await mcp.getPrompt({ name: "find_best_model", arguments: { role: "coding" } });
  const told = {
    name,
    protocol: mcp.getNegotiatedProtocolVersion?.() ?? null,
    server: mcp.getServerVersion()?.name,
    tools: (await mcp.listTools()).tools.length,
    templates: (await mcp.listResourceTemplates()).resourceTemplates.length,
    prompts: (await mcp.listPrompts()).prompts.length,
    suites: suites.structuredContent.total,
    refused: refused.isError === true && refused.content[0].text,
    read: JSON.parse(read.contents[0].text).suites[0].name === suite,
    prompt: prompt.messages[0].content.text.slice(0, 60),
    missing: await failure(() => mcp.readResource({ uri: "llmbench://suite/none" })),
    unknown: await failure(() => mcp.getPrompt({ name: "find_best_model", arguments: {} })),
  };
  console.log(JSON.stringify(told));
  await mcp.close();
}
process.exit(0);
