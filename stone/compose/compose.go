// Package compose reads compose files with the loader of the format's own project, so that several files, include,
// extends, profiles, .env and interpolation mean what they mean to Docker Compose.
package compose

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/template"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/sirupsen/logrus"
)

// Loaded is a project in the long forms of the specification, and where its parts are from.
type Loaded struct {
	Project json.RawMessage `json:"project"`
	// Files are all compose files that were read: those given, then those that they include or extend.
	Files []string `json:"files"`
	// Disabled are the services that no profile enables, with the profiles that would.
	Disabled map[string][]string `json:"disabled"`
	// Variables are those that the files refer to and that have a value, with its origin: the path of an .env file, or
	// "" for the environment of this process.
	Variables map[string]string `json:"variables"`
	// Unset are variables without a value, with the texts that refer to them and have no default.
	Unset map[string][]string `json:"unset"`
}

// Load reads the files as `docker compose -f FILE -f FILE --profile PROFILE` does. The .env of the working directory
// comes before that of the project's folder, which is the folder of the first file; the environment before both.
func Load(files, profiles []string) (*Loaded, error) {
	logrus.SetOutput(io.Discard) // what it warns of is part of the result
	uses := newUses()
	options, err := cli.NewProjectOptions(files,
		cli.WithOsEnv,
		uses.dotEnv,
		cli.WithDefaultProfiles(profiles...),
		cli.WithLoadOptions(uses.record),
	)
	if err != nil {
		return nil, err
	}
	found := &Loaded{Disabled: map[string][]string{}}
	options.WithListeners(func(event string, about map[string]any) {
		found.Files = append(found.Files, mentioned(event, about)...)
	})
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return nil, err
	}
	uses.ofConfigs(project.Configs)
	if found.Project, err = project.MarshalJSON(); err != nil {
		return nil, err
	}
	for name, service := range project.DisabledServices {
		found.Disabled[name] = service.Profiles
	}
	found.Files = unique(append(slices.Clone(project.ComposeFiles), found.Files...), project.WorkingDir)
	found.Variables, found.Unset = uses.origins(options.Environment), uses.unset
	return found, nil
}

// mentioned returns the files that an event of the loader names.
func mentioned(event string, about map[string]any) []string {
	switch event {
	case "include":
		paths, _ := about["path"].(types.StringList)
		folder, _ := about["workingdir"].(string)
		return absolute(paths, folder)
	case "extends":
		if file, ok := about["file"].(string); ok {
			return []string{file}
		}
	}
	return nil
}

func absolute(paths []string, folder string) []string {
	found := make([]string, len(paths))
	for i, path := range paths {
		if found[i] = path; !filepath.IsAbs(path) {
			found[i] = filepath.Join(folder, path)
		}
	}
	return found
}

func unique(files []string, folder string) []string {
	found := []string{}
	for _, file := range absolute(files, folder) {
		if _, err := os.Stat(file); err == nil && !slices.Contains(found, file) {
			found = append(found, file)
		}
	}
	return found
}

// uses are the variables that files refer to, and where their values are from.
type uses struct {
	seen  map[string]bool
	unset map[string][]string
	from  map[string]string
}

func newUses() *uses {
	return &uses{seen: map[string]bool{}, unset: map[string][]string{}, from: map[string]string{}}
}

// dotEnv takes variables from the .env of the working directory, then from that of the project's folder.
func (u *uses) dotEnv(options *cli.ProjectOptions) error {
	folder, err := options.GetWorkingDir()
	if err != nil {
		return err
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	for _, place := range []string{here, folder} {
		options.EnvFiles = nil
		file := filepath.Join(place, ".env")
		if about, err := os.Stat(file); err != nil || about.IsDir() {
			continue
		}
		before := maps.Clone(options.Environment)
		options.EnvFiles = []string{file}
		if err := cli.WithDotEnv(options); err != nil {
			return err
		}
		for name := range options.Environment {
			if _, known := before[name]; !known {
				u.from[name] = file
			}
		}
	}
	return nil
}

// record has the loader's interpolation note each variable that it looks up.
func (u *uses) record(options *loader.Options) {
	if options.Interpolate == nil { // nil while files are read, before they are loaded
		return
	}
	substitute := options.Interpolate.Substitute
	options.Interpolate.Substitute = func(text string, mapping template.Mapping) (string, error) {
		for name, variable := range template.ExtractVariables(map[string]any{"": text}, template.DefaultPattern) {
			_, known := mapping(name)
			u.seen[name] = true
			if !known && variable.DefaultValue == "" && variable.PresenceValue == "" {
				u.unset[name] = append(u.unset[name], text)
			}
		}
		return substitute(text, mapping)
	}
}

// ofConfigs notes the variables that configurations are the text of; each then has that text as its content.
func (u *uses) ofConfigs(configs types.Configs) {
	for name, config := range configs {
		if config.Environment != "" {
			u.seen[config.Environment] = true
			config.Environment = ""
			configs[name] = config
		}
	}
}

func (u *uses) origins(environment types.Mapping) map[string]string {
	found := map[string]string{}
	for name := range u.seen {
		if _, known := environment[name]; known {
			found[name] = u.from[name]
		}
	}
	return found
}
