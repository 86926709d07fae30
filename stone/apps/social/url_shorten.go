package social

import (
	"context"
	"math/rand/v2"

	"loadstone.dev/stone/apps/social/data"
	idl "loadstone.dev/stone/apps/social/idl/social"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/service"
)

const (
	shortHost   = "http://short-url/"
	shortLength = 10
	shortDigits = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
)

// urlShorten keeps what short URLs stand for. Its cache is there and not used, as published.
type urlShorten struct {
	urls   documents.Collection
	quirks bool
}

func startURLShorten(ctx context.Context, host *service.Host) error {
	store, err := host.OpenDocuments(ctx)
	if err != nil {
		return err
	}
	prepareIndexes(host, store, data.URLs)
	host.Thrift = idl.NewUrlShortenServiceProcessor(&urlShorten{data.URLs.In(store), host.Config.Quirks})
	return nil
}

// ComposeUrls gives each URL a short one, equal ones too.
func (u *urlShorten) ComposeUrls(ctx context.Context, _ int64, urls []string, _ map[string]string) ([]*idl.URL, error) {
	if err := checkURLs(urls); err != nil {
		return nil, err
	}
	if len(urls) == 0 {
		return []*idl.URL{}, nil
	}
	shortened, stored := make([]*idl.URL, len(urls)), make([]any, len(urls))
	for i, url := range urls {
		short := shortURL()
		shortened[i] = &idl.URL{ShortenedURL: short, ExpandedURL: url}
		stored[i] = data.URL{ShortenedURL: short, ExpandedURL: url}
	}
	return shortened, exception.DocumentsFailed(u.urls.Insert(ctx, stored...))
}

func shortURL() string {
	digits := make([]byte, shortLength)
	for i := range digits {
		digits[i] = shortDigits[rand.IntN(len(shortDigits))]
	}
	return shortHost + string(digits)
}

// GetExtendedUrls returns what each of the short URLs stands for; it fails if there is one that stands for nothing.
//
// Quirk: it returns nothing at all.
func (u *urlShorten) GetExtendedUrls(ctx context.Context, _ int64, shortened []string, _ map[string]string) ([]string, error) {
	if err := checkURLs(shortened); err != nil {
		return nil, err
	}
	if u.quirks || len(shortened) == 0 {
		return []string{}, nil
	}
	var found []data.URL
	query := documents.Query{Where: []documents.Condition{documents.In("shortened_url", distinctTexts(shortened))}}
	if err := u.urls.Find(ctx, &found, query); err != nil {
		return nil, exception.DocumentsFailed(err)
	}
	expanded := make(map[string]string, len(found))
	for _, one := range found {
		expanded[one.ShortenedURL] = one.ExpandedURL
	}
	urls := make([]string, len(shortened))
	for i, short := range shortened {
		url, is := expanded[short]
		if !is {
			return nil, exception.NotFound("%.100q is no short URL", short)
		}
		urls[i] = url
	}
	return urls, nil
}

func checkURLs(urls []string) error {
	if len(urls) > mostURLs {
		return exception.Invalid("URLs: %d are more than %d", len(urls), mostURLs)
	}
	for _, url := range urls {
		if len(url) > longestText {
			return exception.Invalid("URL: %d bytes are more than %d", len(url), longestText)
		}
		if err := checkWords("URL", url); err != nil {
			return err
		}
	}
	return nil
}

// distinctTexts keeps the first of equal texts.
func distinctTexts(texts []string) []string {
	kept := make([]string, 0, len(texts))
	seen := make(map[string]bool, len(texts))
	for _, text := range texts {
		if !seen[text] {
			seen[text] = true
			kept = append(kept, text)
		}
	}
	return kept
}
