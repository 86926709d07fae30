package config

import (
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"loadstone.dev/stone/zmtp"
)

// Tasks are the parameters of a service's tasks. There are no defaults here: the application file has them, so that a
// result says what was done.
type Tasks struct {
	Linpack     int           // STONE_TASK_LINPACK: order of the system of equations; 0: none is solved
	Sleep       time.Duration // STONE_TASK_SLEEP
	LargeFile   int           // STONE_TASK_LARGE_FILE: bytes
	SmallFile   int           // STONE_TASK_SMALL_FILE: bytes
	SmallRounds int           // STONE_TASK_SMALL_ROUNDS: how often the small file is written and read
	Sync        bool          // STONE_TASK_SYNC: whether a large file is on the disk before it counts as written
	Keep        bool          // STONE_TASK_KEEP: whether files stay until they are cleared
	Socket      zmtp.Kind     // STONE_TASK_SOCKET: rep or router
}

// Task is a parameter that a service can want.
type Task string

// Variable names the variable that has the parameter.
func (t Task) Variable() string { return "STONE_TASK_" + string(t) }

// The parameters.
const (
	Linpack     Task = "LINPACK"
	Sleep       Task = "SLEEP"
	LargeFile   Task = "LARGE_FILE"
	SmallFile   Task = "SMALL_FILE"
	SmallRounds Task = "SMALL_ROUNDS"
	Sync        Task = "SYNC"
	Keep        Task = "KEEP"
	Socket      Task = "SOCKET"
)

const (
	mostOrder  = 10_000
	mostBytes  = 1 << 30
	mostRounds = 10_000
)

// loadTasks reads the parameters that a service wants, all of which must be set.
func loadTasks(wants []Task, getenv func(string) string) (tasks Tasks, err error) {
	for _, task := range wants {
		variable := task.Variable()
		value := getenv(variable)
		switch task {
		case Linpack:
			tasks.Linpack, err = whole(variable, value, 0, mostOrder)
		case LargeFile:
			tasks.LargeFile, err = whole(variable, value, 1, mostBytes)
		case SmallFile:
			tasks.SmallFile, err = whole(variable, value, 1, mostBytes)
		case SmallRounds:
			tasks.SmallRounds, err = whole(variable, value, 1, mostRounds)
		case Sync:
			tasks.Sync, err = truth(variable, value)
		case Keep:
			tasks.Keep, err = truth(variable, value)
		case Socket:
			tasks.Socket = zmtp.Kind(strings.ToUpper(value))
			if tasks.Socket != zmtp.Rep && tasks.Socket != zmtp.Router {
				err = &Error{variable, value, "no such socket", "set it to rep or router"}
			}
		case Sleep:
			tasks.Sleep, err = time.ParseDuration(value)
			if err != nil || tasks.Sleep < 0 || tasks.Sleep > mostDelay {
				err = &Error{variable, value, "no time to sleep", "set it to 0s to 1m, for example 50us"}
			}
		}
		if err != nil {
			return tasks, err
		}
	}
	return tasks, nil
}

func whole(variable, value string, least, most int) (int, error) {
	number, err := strconv.Atoi(value)
	if err != nil || number < least || number > most {
		remedy := "set it to a whole number from " + strconv.Itoa(least) + " to " + strconv.Itoa(most)
		return 0, &Error{variable, value, "no such number", remedy}
	}
	return number, nil
}

func truth(variable, value string) (bool, error) {
	switch value {
	case "true", "false":
		return value == "true", nil
	}
	return false, &Error{variable, value, "neither true nor false", "set it to true or false"}
}

func checkData(folder string) error {
	if !filepath.IsAbs(folder) {
		return &Error{"STONE_DATA", folder, "not an absolute path", "set it to a folder that this service alone has, for example /data"}
	}
	return nil
}
