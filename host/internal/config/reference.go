package config

import (
	"fmt"
	"strings"
)

// Reference returns the tables of all keys in Markdown; docs/config.md holds them.
func Reference() string {
	const head = "| key | value | default | merging | |\n|---|---|---|---|---|\n"
	var b strings.Builder
	b.WriteString("### A tool: `[conversation.tools.NAME]`\n\n" + head)
	tools := schema().field("conversation").node.field("tools").node
	referenceRows(&b, "", tools.elem, map[*node]bool{})
	b.WriteString("\nThe table `[conversation.tools.'*']` has the defaults of all tools: `" +
		strings.Join(defaultsKeys, "`, `") + "`; of `access` only `sensitive_paths`.\n")
	b.WriteString("\n### Elsewhere\n\n" + head)
	for _, f := range schema().fields {
		if f.key != "conversation" {
			referenceRows(&b, "", table(f), map[*node]bool{})
		}
	}
	return b.String()
}

func referenceRows(b *strings.Builder, prefix string, n *node, inside map[*node]bool) {
	if inside[n] {
		return
	}
	inside[n] = true
	defer delete(inside, n)
	switch n.kind {
	case nodeUnion:
		for _, a := range n.alts {
			referenceRows(b, prefix, a, inside)
		}
	case nodeTable:
		for _, f := range n.fields {
			if f.node.kind == nodeNever {
				continue
			}
			key := strings.TrimPrefix(prefix+"."+f.key, ".")
			doc := f.doc
			if f.required {
				doc += " Required."
			}
			merging := f.node.merging()
			if strings.HasSuffix(prefix, "[]") || strings.HasPrefix(key, "command.") {
				merging = ""
			}
			if inside[f.node] || f.node.elem != nil && inside[f.node.elem] {
				fmt.Fprintf(b, "| `%s` | %s | | %s | %s |\n", key, f.node.plainly(), merging, doc)
				continue
			}
			fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", key, f.node.plainly(), f.def, merging, doc)
			referenceRows(b, key, f.node, inside)
		}
	case nodeMap:
		referenceRows(b, prefix+".NAME", n.elem, inside)
	case nodeRules:
		referenceRows(b, prefix+"[]", n.elem, inside)
	}
}

// plainly is describe for a table: words in code, items named.
func (n *node) plainly() string {
	switch n.kind {
	case nodeString:
		if len(n.enum) > 0 {
			return "`" + strings.Join(n.enum, "`, `") + "`"
		}
		return "string"
	case nodeBool:
		return "boolean"
	case nodeInt:
		return "integer"
	case nodeNumber:
		return "number"
	case nodeTable:
		return "table"
	case nodeMap:
		return "table by name"
	case nodeRules:
		return "list of tables"
	case nodeAdded:
		return "list of strings"
	case nodeList:
		return "list of: " + n.elem.plainly()
	case nodeUnion:
		parts := make([]string, len(n.alts))
		for i, a := range n.alts {
			parts[i] = a.plainly()
		}
		return strings.Join(parts, "; or ")
	}
	return "anything"
}

func (n *node) merging() string {
	switch n.kind {
	case nodeTable, nodeMap:
		return "key by key"
	case nodeRules:
		return "appended, or by strategy"
	case nodeAdded:
		return "only added to"
	case nodeFree:
		return "deeply"
	case nodeUnion:
		if !n.whole && n.alternative(Table) != nil {
			return "key by key"
		}
	}
	return "replaced"
}
