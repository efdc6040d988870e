package harness

import (
	"fmt"
	"slices"
	"time"
)

// WorkloadSet is one class of Workloads, of one pod each, in every ClusterQueue of a Shape.
type WorkloadSet struct {
	Class    string
	Count    int           // in each ClusterQueue
	Every    time.Duration // between two of them
	Runtime  time.Duration // from admission to end
	Priority int
	CPU      int
}

// Shape is a load for the scheduler: cohorts of ClusterQueues that are all alike, and what
// arrives in them. All quota is cpu of one flavor; higher priorities preempt lower ones in
// the same queue, and borrowers anywhere in the cohort.
type Shape struct {
	Name       string
	Cohorts    int
	Queues     int // of each cohort
	Nominal    int
	Borrowing  int // limit
	Sets       []WorkloadSet
	Kueue      KueueFigures
	Uncapped   time.Duration // Kueue's wall on a machine of 2 cores, its client unlimited
	UncappedMB int           // and its peak memory there
}

// KueueFigures are what Kueue publishes of its runs of a shape.
type KueueFigures struct {
	Wall  time.Duration
	Waits map[string]time.Duration // mean, creation to admission, by class
}

// Shapes are those of Kueue's scheduler benchmark (test/performance/scheduler/configs), as
// they were when its figures were published; reference values, not goals.
var Shapes = []Shape{
	{
		Name: "baseline", Cohorts: 5, Queues: 6, Nominal: 20, Borrowing: 100,
		Sets: []WorkloadSet{
			{Class: "small", Count: 350, Every: 100 * time.Millisecond, Runtime: 200 * time.Millisecond, Priority: 50, CPU: 1},
			{Class: "medium", Count: 100, Every: 500 * time.Millisecond, Runtime: 500 * time.Millisecond, Priority: 100, CPU: 5},
			{Class: "large", Count: 50, Every: 1200 * time.Millisecond, Runtime: time.Second, Priority: 200, CPU: 20},
		},
		Kueue: KueueFigures{Wall: 351 * time.Second, Waits: map[string]time.Duration{
			"large": 16500 * time.Millisecond, "medium": 76800 * time.Millisecond, "small": 215500 * time.Millisecond,
		}},
		Uncapped: 246 * time.Second, UncappedMB: 448,
	},
	{
		Name: "large-scale", Cohorts: 10, Queues: 100, Nominal: 20, Borrowing: 100,
		Sets: []WorkloadSet{
			{Class: "small", Count: 35, Every: 60 * time.Millisecond, Runtime: 150 * time.Millisecond, Priority: 50, CPU: 1},
			{Class: "medium", Count: 11, Every: 300 * time.Millisecond, Runtime: 350 * time.Millisecond, Priority: 100, CPU: 5},
			{Class: "large", Count: 4, Every: 700 * time.Millisecond, Runtime: 700 * time.Millisecond, Priority: 200, CPU: 20},
		},
		Kueue: KueueFigures{Wall: 1179 * time.Second, Waits: map[string]time.Duration{
			"large": 105600 * time.Millisecond, "medium": 256400 * time.Millisecond, "small": 700400 * time.Millisecond,
		}},
		Uncapped: 771 * time.Second, UncappedMB: 3037,
	},
}

// ShapeOf finds a shape by its name.
func ShapeOf(name string) (Shape, error) {
	for _, shape := range Shapes {
		if shape.Name == name {
			return shape, nil
		}
	}
	return Shape{}, fmt.Errorf("there is no shape %q", name)
}

// Scaled has that part of the Workloads in each queue, at least one of each class.
func (s Shape) Scaled(part float64) Shape {
	s.Sets = slices.Clone(s.Sets)
	for i := range s.Sets {
		s.Sets[i].Count = max(1, int(float64(s.Sets[i].Count)*part+0.5))
	}
	return s
}

// Workloads is how many there are in all.
func (s Shape) Workloads() int {
	count := 0
	for _, set := range s.Sets {
		count += set.Count
	}
	return count * s.Cohorts * s.Queues
}

// QuotaBound is the time that no scheduler can beat: all quota in use from the first
// moment to the last.
func (s Shape) QuotaBound() time.Duration {
	var work time.Duration
	for _, set := range s.Sets {
		work += time.Duration(set.Count*set.CPU) * set.Runtime
	}
	return work / time.Duration(s.Nominal)
}

// arrival is one Workload that is to be created.
type arrival struct {
	due    time.Duration // after the start
	cohort int
	queue  int // in the cohort
	set    *WorkloadSet
	name   string
}

// arrivals are all Workloads of a shape in the order in which they are due.
func (s Shape) arrivals() []arrival {
	var all []arrival
	for cohort := range s.Cohorts {
		for queue := range s.Queues {
			for i := range s.Sets {
				set := &s.Sets[i]
				for number := range set.Count {
					all = append(all, arrival{
						due: time.Duration(number+1) * set.Every, cohort: cohort, queue: queue, set: set,
						name: fmt.Sprintf("%s-%d-%d-%d", set.Class, cohort, queue, number),
					})
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b arrival) int { return int(a.due - b.due) })
	return all
}
