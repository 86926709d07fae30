package seed

import (
	"math/bits"
	"math/rand/v2"
	"strings"

	"loadstone.dev/stone/apps/social/data"
)

const (
	day = 24 * 60 * 60 * 1000
	// began is when the first post was written, apart by pause from the next: milliseconds.
	began = founded + day
	pause = 100
	// epoch is what unique ids count from: 2018-01-01, in milliseconds since 1970.
	epoch = 1_514_764_800_000

	textLength      = 256
	addressLength   = 64
	mostMentions    = 5
	mostAddresses   = 5
	mostMedia       = 5
	lowercase       = "abcdefghijklmnopqrstuvwxyz"
	alphanumeric    = lowercase + "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	shortURLs       = "http://short-url/"
	shortURLLength  = 10
	shortURLsThere  = 839_299_365_868_340_224 // 62^10
	shortURLScatter = 518_700_534_523_489_177 // without a divisor in common with it
)

// A post has a place in time: users post in rounds, each in turn, so that the k-th post of user u is number
// k*users + u, and the greater number is the newer post. Where a user has no k-th post the number is free.

func (s *Seed) number(user, k int) int { return k*s.users + user }

func timestamp(number int) int64 { return began + pause*int64(number) }

// postID is an id as services give them at that time, by a machine 0: newer posts have greater ids.
func postID(number int) int64 { return (timestamp(number) - epoch) << 12 }

// ended is after all posts of the seed.
func (s *Seed) ended() int64 { return timestamp(s.users * (s.dataset.PostsPerUser + 1)) }

// postsOf is how many posts a user has.
func postsOf(user, most int) int { return random(countStream, user).IntN(most + 1) }

// mentioned are the users that a post mentions: others than its author, each once.
func (s *Seed) mentioned(number int) []int {
	author, dice := number%s.users, random(mentionStream, number)
	users := make([]int, dice.IntN(min(mostMentions, s.users-1)+1))
	seen := map[int]bool{author: true}
	for i := range users {
		user := dice.IntN(s.users)
		for seen[user] {
			user = dice.IntN(s.users)
		}
		users[i], seen[user] = user, true
	}
	return users
}

// post is a post as published (scripts/init_social_graph.py --compose): 256 letters and digits, then mentions, then
// addresses, which are short as they come out of the text service.
func (s *Seed) post(number int) data.Post {
	author, dice := number%s.users, random(postStream, number)
	post := data.Post{
		PostID: postID(number), Timestamp: timestamp(number), ReqID: dice.Int64N(1 << 53),
		Creator: creator(author), UserMentions: []data.Creator{}, Media: []data.Medium{}, URLs: addresses(number),
	}
	text := strings.Builder{}
	text.WriteString(letters(dice, alphanumeric, textLength))
	for _, user := range s.mentioned(number) {
		post.UserMentions = append(post.UserMentions, creator(user))
		text.WriteString(" @" + username(user))
	}
	for _, address := range post.URLs {
		text.WriteString(" " + address.ShortenedURL)
	}
	post.Text = text.String()
	for range dice.IntN(mostMedia + 1) {
		post.Media = append(post.Media, data.Medium{MediaID: 1e17 + dice.Int64N(9e17), MediaType: "png"})
	}
	return post
}

func creator(user int) data.Creator {
	return data.Creator{UserID: int64(user), Username: username(user)}
}

// addresses are those in a post.
func addresses(number int) []data.URL {
	dice := random(addressStream, number)
	urls := make([]data.URL, dice.IntN(mostAddresses+1))
	for i := range urls {
		urls[i] = data.URL{
			ShortenedURL: shortURL(number*(mostAddresses+1) + i), ExpandedURL: "http://" + letters(dice, lowercase, addressLength),
		}
	}
	return urls
}

// shortURL scatters numbers over all short addresses, each to one of its own.
func shortURL(number int) string {
	high, low := bits.Mul64(uint64(number), shortURLScatter)
	rest := bits.Rem64(high, low, shortURLsThere)
	text := make([]byte, shortURLLength)
	for i := range text {
		text[i] = alphanumeric[rest%uint64(len(alphanumeric))]
		rest /= uint64(len(alphanumeric))
	}
	return shortURLs + string(text)
}

func letters(dice *rand.Rand, of string, n int) string {
	text := make([]byte, n)
	for i := range text {
		text[i] = of[dice.IntN(len(of))]
	}
	return string(text)
}

func (s *Seed) postsBy(user int) []data.Post {
	posts := make([]data.Post, s.posts[user])
	for k := range posts {
		posts[k] = s.post(s.number(user, k))
	}
	return posts
}

func (s *Seed) urlsBy(user int) []data.URL {
	var urls []data.URL
	for k := range int(s.posts[user]) {
		urls = append(urls, addresses(s.number(user, k))...)
	}
	return urls
}

// timeline is nothing where a user has not posted, as with the services.
func (s *Seed) timeline(user int) []data.Timeline {
	count := int(s.posts[user])
	if count == 0 {
		return nil
	}
	entries := make([]data.Entry, count)
	for k := range count {
		number := s.number(user, k)
		entries[count-1-k] = data.Entry{PostID: postID(number), Timestamp: timestamp(number)}
	}
	return []data.Timeline{{UserID: int64(user), Posts: entries}}
}
