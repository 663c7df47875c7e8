package policy

import (
	"os"
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// Whoever withholds a path means what is there, whatever symlinks lead to it: in the workspace, and above the home
// directory.
func TestPatternsFollowLinks(t *testing.T) {
	for _, pattern := range []string{
		"real/keys/a.pem", "link/keys/a.pem", "link/keys/*.pem", "/keys/*.pem", "keys/a.pem", "link/**/a.pem", "/link", "/keys/", "self/real/keys/*.pem", "/self/**/a.pem",
		"~/ws/real/keys/a.pem", "~/ws/real/keys/*.pem", "~/ws/link/*/a.pem",
	} {
		for _, list := range []string{"deny", "sensitive_paths"} {
			if list == "sensitive_paths" { // a slash at the beginning is that of an absolute path there
				pattern = strings.TrimPrefix(pattern, "/")
			}
			if !strings.Contains(strings.TrimSuffix(pattern, "/"), "/") {
				continue // a name at any depth
			}
			w := newWorld(t, "file real/keys/a.pem x", "file real/open x", "symlink link real", "symlink keys real/keys", "symlink self .")
			// The home directory is reached by a link too.
			home := jptooltest.TempRoot(t)
			if err := os.Symlink(w.home, home+"/home"); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(w.root, w.home+"/ws"); err != nil {
				t.Fatal(err)
			}
			w.mine("[conversation.tools.'*'.access]\n" + list + " = ['" + pattern + "']")
			r := w.request("t")
			r.Home = home + "/home"
			d, err := Compile(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if d.Withheld(w.root+"/real/keys/a.pem") == "" {
				t.Errorf("%s = %s does not withhold what it leads to: %v %v", list, pattern, d.Deny, d.Secrets)
			}
			if why := d.Withheld(w.root + "/open"); why != "" {
				t.Errorf("%s = %s: %s", list, pattern, why)
			}
		}
	}
}

// What is taken away from all tools is taken away from what their presets reach, too.
func TestPresetsAndRulesForAll(t *testing.T) {
	port := uint16(443)
	for mine, want := range map[string]string{
		"": "allowed",
		"conversation.tools.'*'.access.net = [{ host = '*', port = 443, allow = false }]":                           "denied",
		"conversation.tools.'*'.access.net = [{ host = 'x.org', allow = false }]":                                   "denied",
		"conversation.tools.'*'.access.net = [{ host = 'y.org', allow = false }]":                                   "allowed",
		"conversation.tools.t.access.net = []":                                                                      "denied",
		"conversation.tools.t.access.net = [{ host = 'y.org', allow = true }]":                                      "denied",
		"conversation.tools.'*'.access.net = [{ host = 'x.org', allow = false }]\nconversation.tools.t.access = {}": "denied",
	} {
		w := newWorld(t).mine(mine)
		r := w.request("t")
		r.PresetNet = []jptool.NetRule{{Host: "*", Port: &port, Allow: true, Origin: "preset go"}}
		d, err := Compile(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		e, err := d.ExplainNet("https://x.org/")
		got := map[bool]string{true: "allowed", false: "denied"}[e.Allowed]
		if err != nil || got != want {
			t.Errorf("%s: %s (%+v), %v", mine, got, e, err)
		}
	}
}
