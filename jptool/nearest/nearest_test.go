package nearest

import "testing"

func TestWord(t *testing.T) {
	known := []string{"--format", "--no-input", "read", "create"}
	for word, want := range map[string]string{
		"--fromat": "--format", "--FORMAT": "--format", "raed": "read", "reed": "read", "craete": "create",
		"write": "", "": "", "x": "", "--no-inptu": "--no-input", "delete": "",
	} {
		if got := Word(word, known); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}

func TestNameThatIsTypedInPart(t *testing.T) {
	known := []string{"fs_read_file", "fs_list_files", "fs_move_file", "README.md", "server.go", "server_test.go"}
	for word, want := range map[string]string{
		"fs_rad": "fs_read_file", "fs_raed_file": "fs_read_file", "README": "README.md", "REDME": "README.md", "fs_": "", "fs_x": "",
		"serve": "", "serverr.go": "server.go", "fs_list": "fs_list_files", "quite another": "", "": "",
	} {
		if got := Name(word, known); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}
