package compose

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func write(t *testing.T, folder string, texts map[string]string) {
	t.Helper()
	for name, text := range texts {
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLoad: what a project is made of, beside the project itself, which is the loader's.
func TestLoad(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	t.Setenv("FROM_SHELL", "shell")
	write(t, folder, map[string]string{
		".env":               "HERE=1\nBOTH=here\n",
		"app/.env":           "BOTH=project\nPROJECT=2\n",
		"app/compose.yaml":   "include: [part.yaml]\nservices:\n  web:\n    extends: {file: base.yaml, service: any}\n    environment: {A: '${HERE} ${BOTH} ${PROJECT} ${FROM_SHELL} ${NONE}'}\n  debug: {image: debug, profiles: [late]}\nconfigs: {c: {environment: BOTH}}\n",
		"app/part.yaml":      "services: {cache: {image: redis}}\n",
		"app/base.yaml":      "services: {any: {image: base, tty: true}}\n",
		"app/override.yaml":  "services: {web: {image: over}}\n",
		"app/unrelated.yaml": "services: {}\n",
	})
	loaded, err := Load([]string{"app/compose.yaml", "app/override.yaml"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var project struct {
		Services map[string]struct {
			Image       string
			TTY         bool
			Environment map[string]string
		}
		Configs map[string]struct{ Content string }
	}
	if err := json.Unmarshal(loaded.Project, &project); err != nil {
		t.Fatal(err)
	}
	web := project.Services["web"]
	if web.Image != "over" || !web.TTY || web.Environment["A"] != "1 here 2 shell " {
		t.Errorf("web is %+v", web)
	}
	if text := project.Configs["c"].Content; text != "here" {
		t.Errorf("the configuration is %q", text)
	}
	if !slices.Equal(slices.Sorted(maps.Keys(project.Services)), []string{"cache", "web"}) {
		t.Errorf("services: %v", project.Services)
	}
	if !slices.Equal(loaded.Disabled["debug"], []string{"late"}) {
		t.Errorf("disabled: %v", loaded.Disabled)
	}
	files := []string{}
	for _, name := range []string{"compose.yaml", "override.yaml", "part.yaml", "base.yaml"} {
		files = append(files, filepath.Join(folder, "app", name))
	}
	if !slices.Equal(loaded.Files, files) {
		t.Errorf("files: %v", loaded.Files)
	}
	here, app := filepath.Join(folder, ".env"), filepath.Join(folder, "app", ".env")
	if want := map[string]string{"HERE": here, "BOTH": here, "PROJECT": app, "FROM_SHELL": ""}; !maps.Equal(loaded.Variables, want) {
		t.Errorf("variables: %v", loaded.Variables)
	}
	if len(loaded.Unset) != 1 || len(loaded.Unset["NONE"]) != 1 {
		t.Errorf("unset: %v", loaded.Unset)
	}
}

func TestLoadOfProfiles(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, map[string]string{"compose.yaml": "services: {debug: {image: debug, profiles: [late]}}\n"})
	loaded, err := Load([]string{filepath.Join(folder, "compose.yaml")}, []string{"late"})
	if err != nil || len(loaded.Disabled) != 0 {
		t.Fatal(loaded, err)
	}
}

func TestLoadOfNothing(t *testing.T) {
	if _, err := Load([]string{filepath.Join(t.TempDir(), "compose.yaml")}, nil); err == nil {
		t.Fatal("a file that is not there was loaded")
	}
}
