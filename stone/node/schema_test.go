package node

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The client's models write this schema; both sides are tested against it.
const protocolSchema = "../../loadstone/infrastructure/machines/protocol.schema.json"

type protocol struct {
	compiler *jsonschema.Compiler
	verbs    []string
}

var theProtocol = sync.OnceValues(func() (*protocol, error) {
	text, err := os.ReadFile(protocolSchema)
	if err != nil {
		return nil, err
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	found := &protocol{compiler: compiler}
	for verb := range document.(map[string]any)["verbs"].(map[string]any) {
		found.verbs = append(found.verbs, verb)
	}
	return found, compiler.AddResource("protocol.json", document)
})

// conforms holds JSON against a part of the schema, such as verbs/run/args; a module alone has none.
func conforms(t testing.TB, part string, text []byte) {
	t.Helper()
	protocol, err := theProtocol()
	if os.IsNotExist(err) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if verb, is := strings.CutPrefix(part, "verbs/"); is && !slices.Contains(protocol.verbs, strings.Split(verb, "/")[0]) {
		t.Errorf("the schema has no verb of %s", part)
		return
	}
	schema, err := protocol.compiler.Compile("protocol.json#/" + part)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		t.Errorf("%s: %s: %v", part, text, err)
	}
}

// The verbs of the schema are those of a node.
func TestTheSchemaHasEveryVerb(t *testing.T) {
	protocol, err := theProtocol()
	if err != nil {
		t.Skip(err) // the module alone, as in an image
	}
	node := &Node{}
	verbs := node.verbs()
	for _, verb := range protocol.verbs {
		if verbs[verb] == nil {
			t.Errorf("no node has the schema's verb %s", verb)
		}
	}
	for verb := range verbs {
		if !slices.Contains(protocol.verbs, verb) {
			t.Errorf("the schema lacks %s", verb)
		}
	}
}

// conformsAnswer checks a successful answer and its request against the schema.
func conformsAnswer(t testing.TB, verb string, args any, line message) {
	t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	conforms(t, "verbs/"+verb+"/args", text)
	conforms(t, "verbs/"+verb+"/ok", line.OK)
}
