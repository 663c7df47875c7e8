package config

import (
	"strings"
	"testing"
)

// texts joins patterns.
func texts(list []Pattern) string {
	var all []string
	for _, p := range list {
		all = append(all, p.Text)
	}
	return strings.Join(all, " ")
}

// No layer takes away what another one denies, by no means that it has.
func TestDenyIsOnlyAdded(t *testing.T) {
	const tools = "conversation.tools.fs_read_file = { source = \"local\", command = \"r\" }\nconversation.tools.fs_grep_files = { source = \"local\", command = \"g\" }\n"
	builtIn := func(o *Options) { o.BuiltIn = builtInLayer(tools) }
	mine := files{
		userFile: "[conversation.tools.'*'.access]\ndeny = [\"**/.env*\", \"secrets/\"]\nfs = [{ path = \"keys\" }]\n[conversation.tools.fs_read_file.access]\ndeny = [\"~/.netrc\"]\n",
	}
	for name, theirs := range map[string]string{
		"nothing":            "",
		"added":              "conversation.tools.'*'.access.deny = [\"secrets/\"]",
		"empty":              "conversation.tools.'*'.access.deny = []\nconversation.tools.fs_read_file.access.deny = []",
		"rules replaced":     "conversation.tools.'*'.access.fs = { value = [], strategy = \"replace\" }",
		"rules of its own":   "conversation.tools.fs_read_file.access.fs = [{ path = \"keys\", read = true }]",
		"the tool set again": "[conversation.tools.fs_read_file]\nsource = \"local\"\ncommand = \"x\"",
	} {
		t.Run(name, func(t *testing.T) {
			all := files{workspaceFile: theirs}
			for file, text := range mine {
				all[file] = text
			}
			c := load(t, all, builtIn)
			if got := texts(mustTool(t, c, "fs_read_file").Deny); got != "**/.env* secrets/ ~/.netrc /keys" {
				t.Errorf("fs_read_file denies %s", got)
			}
			if got := texts(mustTool(t, c, "fs_grep_files").Deny); got != "**/.env* secrets/ /keys" {
				t.Errorf("fs_grep_files denies %s", got)
			}
		})
	}
	// With the call nothing is taken away either.
	for _, arg := range []string{
		"conversation.tools.'*'.access.deny=x", "conversation.tools.'*'.access:=null", "conversation.tools.fs_read_file.access:=null",
		"conversation.tools.'*':=null",
	} {
		c := load(t, mine, withArgs(arg), builtIn)
		if got := texts(mustTool(t, c, "fs_read_file").Deny); !strings.HasPrefix(got, "**/.env* secrets/ ~/.netrc") {
			t.Errorf("%s: %s", arg, got)
		}
	}
}

func TestDenyErrors(t *testing.T) {
	for text, want := range map[string]string{
		"deny = [\"!x\"]":                        "would give back",
		"deny = [\"\"]":                          "empty",
		"deny = [\"{a,b}\"]":                     "braces",
		"deny = \"x\"":                           "must be a list",
		"deny = [\"~\"]":                         "home directory",
		"sensitive_paths = [\"[\"]":              "bracket",
		"fs = [{ path = \"a\", read = true }]":   "only take away",
		"net = [{ host = \"x\", allow = true }]": "only take away",
		"env = [{ name = \"A\", read = true }]":  "only take away",
		"fs = [{ path = \"../a\" }]":             "leaves the workspace",
		"commands.git = {}":                      "cannot be given for all tools",
	} {
		_, err := Load(options(t, files{userFile: "[conversation.tools.'*'.access]\n" + text}))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
}
