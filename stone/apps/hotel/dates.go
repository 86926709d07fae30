package hotel

import (
	"fmt"
	"time"

	"loadstone.dev/stone/apps/hotel/data"
)

// night is named by the dates on which it begins and ends.
type night struct{ date, after string }

// nights lists the nights of a stay; the night that begins on the out date is not among them. Its
// errors are badRequest.
func nights(inDate, outDate string) ([]night, error) {
	first, errIn := time.Parse(time.DateOnly, inDate)
	end, errOut := time.Parse(time.DateOnly, outDate)
	if errIn != nil || errOut != nil {
		return nil, badRequest("Please check inDate/outDate format (YYYY-MM-DD)")
	}
	number := int(end.Sub(first).Hours() / 24)
	if number < 1 || number > data.MaxNights {
		return nil, badRequest(fmt.Sprintf("Please check inDate/outDate: outDate must be 1 to %d days after inDate", data.MaxNights))
	}
	list := make([]night, number)
	date := inDate
	for i := range list {
		after := first.AddDate(0, 0, i+1).Format(time.DateOnly)
		list[i] = night{date, after}
		date = after
	}
	return list, nil
}
