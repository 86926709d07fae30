package seed

import (
	"fmt"
	"slices"
	"time"

	"loadstone.dev/stone/apps/social/data"
	"loadstone.dev/stone/platform/seeding"
)

const (
	mostExamples = 5
	// apart is how long a request may take at most: what is further apart in time cannot have crossed.
	apart = int64(time.Minute / time.Millisecond)
)

// held is what the stores hold, as far as it is compared.
type held struct {
	posts      []written       // all, by id
	timelines  []data.Timeline // all user timelines
	own        map[int64]int   // how many entries each has
	homes      []data.Timeline // some home timelines
	deliveries []delivery      // some posts
}

// written is a post and who wrote it when.
type written struct{ id, author, timestamp int64 }

// delivery is a post, who should have it in the home timeline and who does not.
type delivery struct {
	post             data.Post
	readers, missing []int64
}

// readers are those who followed the author well before the post was written, and the mentioned users. It is open
// whether one has it who began to follow at the same time.
func readers(post data.Post, followers []data.Edge) (users []int64) {
	for _, follower := range followers {
		if follower.Timestamp < post.Timestamp-apart {
			users = append(users, follower.UserID)
		}
	}
	for _, mention := range post.UserMentions {
		users = append(users, mention.UserID)
	}
	slices.Sort(users)
	return slices.Compact(users)
}

// sample chooses posts to check the delivery of: those of load, written from a time on, before those of the seed, and
// none from before another time.
func (h *held) sample(before, ended int64) []written {
	var seeded, loaded []written
	for _, post := range h.posts {
		switch {
		case post.timestamp >= ended:
			loaded = append(loaded, post)
		case post.timestamp >= before:
			seeded = append(seeded, post)
		}
	}
	chosen := spread(loaded, mostPostsChecked)
	return append(slices.Clone(chosen), spread(seeded, mostPostsChecked-len(chosen))...)
}

func (h *held) find(id int64) (index int, found bool) {
	return slices.BinarySearchFunc(h.posts, id, func(post written, id int64) int {
		switch {
		case post.id < id:
			return -1
		case post.id > id:
			return 1
		}
		return 0
	})
}

// compare returns what should agree: of as many posts as are unfinished, entries may be missing.
//
// Quirk: a follow makes Redis believe that it knows all followers, where it knew none: posts reach that one alone. So
// there the number of posts that reached all is reported, and is no fault.
func (h *held) compare(unfinished int, quirks bool) []seeding.Finding {
	times := make([]int, len(h.posts)) // that a post is in its author's timeline
	owned, inOrder := h.checkTimelines(times)
	undelivered := unfinished
	if quirks {
		undelivered = len(h.deliveries)
	}
	return []seeding.Finding{
		h.checkListed(times, unfinished), owned, inOrder, h.checkDelivered(undelivered), h.checkHomes(),
	}
}

// checkTimelines looks at each entry of the user timelines, and counts those of each post.
func (h *held) checkTimelines(times []int) (owned, inOrder seeding.Finding) {
	var entries, good, ordered int
	var foreign, disordered []string
	for _, timeline := range h.timelines {
		entries += len(timeline.Posts)
		previous := data.Entry{Timestamp: 1<<63 - 1}
		sorted := true
		for _, entry := range timeline.Posts {
			if sorted = sorted && previous.Timestamp >= entry.Timestamp-apart; !sorted {
				disordered = append(disordered, fmt.Sprintf("post %d of user %d stands below an older one", entry.PostID, timeline.UserID))
				break
			}
			previous = entry
		}
		if sorted {
			ordered++
		}
		for _, entry := range timeline.Posts {
			index, found := h.find(entry.PostID)
			if found && h.posts[index].author == timeline.UserID {
				times[index]++
			}
			if why := h.wrong(entry, index, found, timeline.UserID, times); why != "" {
				foreign = append(foreign, fmt.Sprintf("user %d: post %d %s", timeline.UserID, entry.PostID, why))
				continue
			}
			good++
		}
	}
	return finding("entries of user timelines that are posts of their owner, once and with their time", entries, good, 0, foreign),
		finding("user timelines that are in order", len(h.timelines), ordered, 0, disordered)
}

// wrong says what is wrong with an entry of a user timeline; empty if nothing is.
func (h *held) wrong(entry data.Entry, index int, found bool, owner int64, times []int) string {
	switch {
	case !found:
		return "is not stored"
	case h.posts[index].author != owner:
		return fmt.Sprintf("is of user %d", h.posts[index].author)
	case times[index] > 1:
		return "is there again"
	case h.posts[index].timestamp != entry.Timestamp:
		return fmt.Sprintf("is of %d, not of %d", h.posts[index].timestamp, entry.Timestamp)
	}
	return ""
}

func (h *held) checkListed(times []int, unfinished int) seeding.Finding {
	listed := 0
	var missing []string
	for i, post := range h.posts {
		if times[i] > 0 {
			listed++
		} else {
			missing = append(missing, fmt.Sprintf("post %d of user %d", post.id, post.author))
		}
	}
	return finding("posts that are in their author's user timeline", len(h.posts), listed, unfinished, missing)
}

func (h *held) checkDelivered(tolerated int) seeding.Finding {
	delivered := 0
	var missing []string
	for _, one := range h.deliveries {
		if len(one.missing) == 0 {
			delivered++
		} else {
			missing = append(missing, fmt.Sprintf("post %d of user %d is not in %d of %d home timelines, such as that of user %d",
				one.post.PostID, one.post.Creator.UserID, len(one.missing), len(one.readers), one.missing[0]))
		}
	}
	return finding("posts (a sample) that are in the home timelines of followers and of those mentioned", len(h.deliveries),
		delivered, tolerated, missing)
}

func (h *held) checkHomes() seeding.Finding {
	var entries, good int
	var wrong []string
	for _, timeline := range h.homes {
		for _, entry := range timeline.Posts {
			entries++
			index, found := h.find(entry.PostID)
			switch {
			case !found:
				wrong = append(wrong, fmt.Sprintf("user %d: post %d is not stored", timeline.UserID, entry.PostID))
			case h.posts[index].timestamp != entry.Timestamp:
				wrong = append(wrong, fmt.Sprintf("user %d: post %d is of %d, not of %d", timeline.UserID, entry.PostID,
					h.posts[index].timestamp, entry.Timestamp))
			default:
				good++
			}
		}
	}
	return finding("entries of home timelines (a sample) that are posts, with their time", entries, good, 0, wrong)
}

// finding tolerates the given number of mismatches.
func finding(what string, want, have, tolerated int, examples []string) seeding.Finding {
	examples = append([]string{}, examples[:min(len(examples), mostExamples)]...)
	return seeding.Finding{What: what, Want: want, Have: have, OK: want-have <= tolerated, Examples: examples}
}
