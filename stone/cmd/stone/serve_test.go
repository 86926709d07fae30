package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"loadstone.dev/stone/platform/password"
)

func TestEveryVariableOfAServiceIsDescribed(t *testing.T) {
	var help strings.Builder
	serveUsage(&help)
	page, err := os.ReadFile("../../../docs/reference/services.md")
	if err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob("../../platform/config/*.go")
	if err != nil || len(sources) == 0 {
		t.Fatal(sources, err)
	}
	variables := []string{password.Variable}
	for _, source := range sources {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(source, "_test.go") {
			for _, found := range regexp.MustCompile(`getenv\("(STONE_[A-Z_]+)"\)`).FindAllStringSubmatch(string(text), -1) {
				variables = append(variables, found[1])
			}
		}
	}
	if len(variables) < 12 {
		t.Errorf("only %v", variables)
	}
	for _, variable := range variables {
		if !strings.Contains(help.String(), "  "+variable+"=") || !strings.Contains(string(page), "| `"+variable+"` |") {
			t.Errorf("%s: it is missing in stone serve --help, or in docs/reference/services.md", variable)
		}
	}
}
