package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	xterm "golang.org/x/term"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/show"
)

// maxRequest bounds what is read from standard input or a file, in bytes; the wire has the same limit.
const maxRequest = 64 << 20

// arguments makes the JSON object of a call from the words of the command line: KEY=TEXT and KEY:=JSON, or one JSON
// object, or `-`. A key that occurs several times is a list. The tool's parameters decide later which texts are numbers.
func arguments(words []string, tool *config.Tool, stdin io.Reader) ([]byte, error) {
	values := map[string][]any{}
	for _, word := range words {
		if object, ok, err := whole(word, stdin); err != nil {
			return nil, err
		} else if ok {
			if len(words) > 1 {
				return nil, exit.Errorf(exit.Usage, "%s and other arguments do not go together\ngive one JSON object, or only KEY=VALUE", show.Visible(word))
			}
			return object, nil
		}
		key, value, ok := strings.Cut(word, "=")
		if !ok || key == "" || key == ":" {
			return nil, exit.Errorf(exit.Usage, "the argument %s is not KEY=VALUE\n%s", show.Visible(word), example(tool, word))
		}
		if !utf8.ValidString(word) {
			return nil, exit.Errorf(exit.Usage, "the argument %s is not valid UTF-8\nJSON has no other text, so no tool can be given it", show.Visible(word))
		}
		var given any = value
		if name, isJSON := strings.CutSuffix(key, ":"); isJSON {
			if !json.Valid([]byte(value)) {
				return nil, exit.Errorf(exit.Usage, "the value of %s is not JSON: %s\nwrite %s=TEXT for a text", show.Visible(key), show.Visible(value), name)
			}
			key, given = name, json.RawMessage(value)
		}
		values[key] = append(values[key], given)
	}
	object := map[string]any{}
	for key, list := range values {
		object[key] = list
		if len(list) == 1 {
			object[key] = list[0]
		}
	}
	return json.Marshal(object)
}

// whole reads a word that stands for the whole object; ok is false for any other word.
func whole(word string, stdin io.Reader) (object json.RawMessage, ok bool, err error) {
	if word != "-" {
		return json.RawMessage(word), strings.HasPrefix(word, "{"), nil
	}
	if f, ok := stdin.(*os.File); ok && xterm.IsTerminal(int(f.Fd())) {
		return nil, false, exit.Errorf(exit.Usage, "- reads the arguments from standard input, which is a terminal\npipe one JSON object into the command")
	}
	data, err := readAll(stdin)
	if err != nil {
		return nil, false, exit.Errorf(exit.Usage, "reading the arguments from standard input: %w", err)
	}
	return data, true, nil
}

// readAll reads everything, at most maxRequest bytes.
func readAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxRequest+1))
	if err == nil && len(data) > maxRequest {
		err = fmt.Errorf("it is larger than %d MiB", maxRequest>>20)
	}
	return data, err
}

// example shows what the word was probably meant to be.
func example(tool *config.Tool, word string) string {
	for _, p := range tool.Parameters {
		if p.Required && slices.Contains(p.Types, "string") {
			return fmt.Sprintf("did you mean %s?", show.Word(p.Name+"="+word))
		}
	}
	return "see: jphost tools " + show.Word(tool.Name)
}
