package social

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"

	idl "loadstone.dev/stone/apps/social/idl/social"
	"loadstone.dev/stone/platform/web"
)

// The published messages.
const (
	registerFailed = "User registration failure"
	uploaded       = "Successfully upload post"
)

var errIncomplete = web.Problemf(http.StatusBadRequest, "Incomplete arguments")

func require(params web.Params, names ...string) error {
	for _, name := range names {
		if params.Get(name) == "" {
			return errIncomplete
		}
	}
	return nil
}

// stretch reads which entries of a timeline are wanted: from start up to but not including stop. Whether there is such a
// stretch is the timeline's to say.
func stretch(params web.Params) (start, stop int32, err error) {
	if start, err = params.Integer("start", math.MinInt32, math.MaxInt32); err == nil {
		stop, err = params.Integer("stop", math.MinInt32, math.MaxInt32)
	}
	return start, stop, err
}

// connection is what follow and unfollow differ in.
type connection struct {
	failure string
	byID    func(*frontend, *http.Request, int64, int64) error
	byName  func(*frontend, *http.Request, string, string) error
}

var following = connection{
	"Follow Failed",
	func(f *frontend, r *http.Request, who, followee int64) error {
		return f.graph.Follow(r.Context(), requestID(), who, followee, nil)
	},
	func(f *frontend, r *http.Request, who, followee string) error {
		return f.graph.FollowWithUsername(r.Context(), requestID(), who, followee, nil)
	},
}

var unfollowing = connection{
	"Unfollow Failed",
	func(f *frontend, r *http.Request, who, followee int64) error {
		return f.graph.Unfollow(r.Context(), requestID(), who, followee, nil)
	},
	func(f *frontend, r *http.Request, who, followee string) error {
		return f.graph.UnfollowWithUsername(r.Context(), requestID(), who, followee, nil)
	},
}

// connect follows or unfollows by ids or else by names. An unknown name is 500, as published.
func (f *frontend) connect(r *http.Request, params web.Params, do connection) error {
	if require(params, "user_id", "followee_id") == nil {
		who, err := params.ID("user_id")
		if err != nil {
			return err
		}
		followee, err := params.ID("followee_id")
		if err != nil {
			return err
		}
		return f.failed(do.failure, do.byID(f, r, who, followee))
	}
	if err := require(params, "user_name", "followee_name"); err != nil {
		return err
	}
	err := do.byName(f, r, params.Get("user_name"), params.Get("followee_name"))
	return f.failed(do.failure, err, idl.ErrorCode_SE_NOT_FOUND)
}

// composePost makes a post of a user. It is the service's to refuse what is wrong before anything is stored.
func (f *frontend) composePost(r *http.Request, params web.Params, user int64, username string) error {
	kind, err := params.Integer("post_type", math.MinInt32, math.MaxInt32)
	if err != nil {
		return err
	}
	ids, types, err := mediaOf(params)
	if err != nil {
		return err
	}
	err = f.compose.ComposePost(r.Context(), requestID(), username, user, params.Get("text"), ids, types, idl.PostType(kind), nil)
	return f.failed("compost_post failure", err) // sic: published so
}

// mediaOf reads the files of a post: a JSON array of ids, as texts or numbers, and one of as many types.
func mediaOf(params web.Params) ([]int64, []string, error) {
	var numbers []json.RawMessage // load scripts send texts of digits, of which the first can be 0
	var types []string
	if err := decodeArray(params, "media_ids", &numbers); err != nil {
		return nil, nil, err
	}
	if err := decodeArray(params, "media_types", &types); err != nil {
		return nil, nil, err
	}
	ids := make([]int64, len(numbers))
	for i, number := range numbers {
		digits := strings.Trim(string(number), `"`)
		id, err := strconv.ParseUint(digits, 10, 63)
		if err != nil {
			return nil, nil, web.Problemf(http.StatusBadRequest, "media_ids: %.30q is no id", digits)
		}
		ids[i] = int64(id)
	}
	return ids, types, nil
}

func decodeArray(params web.Params, name string, into any) error {
	text := params.Get(name)
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return web.Problemf(http.StatusBadRequest, "%s: no JSON array as expected: %v", name, err)
	}
	return nil
}
