// Package words holds every sentence the window shows, so that a second language is a second table.
package words

import "sync/atomic"

// Table is one language. Fields that end in F are patterns for fmt.
type Table struct {
	App string

	// Navigation
	Chat, Library, Cards, Server, Settings string

	// Everywhere
	Copy, Copied, Cancel, Delete, Rename, Undo, Save, Close, Remove, Add, Open, More string
	CodeNoLanguage                                                                   string
	DeletedF, RemovedF                                                               string

	// Instead of the window
	AlreadyOpen, AlreadyOpenHint, NotOpened, Quit, StartAnew string

	// Time
	Today, Yesterday, Week, Month, Older, Pinned string

	// Status strip
	NoModel, LoadingF, Ready, Answering, Stopped, NoEngine string
	PrefillF, DecodeF, ContextF                            string
	HintPrefill, HintDecode, HintContext, HintGraph        string
	HintCardF, HintCardTempF, Memory                       string

	// Chat
	NewChat, Untitled, Conversations, NoConversations, LoadingConversations             string
	Greeting, GreetingNoModel, UsingF, PickModel, GetModel                              string
	Examples, SampleExamples                                                            []string
	Placeholder, Send, Stop                                                             string
	Regenerate, Edit, EditHint                                                          string
	Thinking, ThoughtF, Thought                                                         string
	LoadingModelF, ReadingF, ReadingAll                                                 string
	StatsF, StatsRateF, StatsFirstF, Interrupted, LengthEnd                             string
	Reasoning, ReasoningAuto, ReasoningOn, ReasoningOff, ReasoningHint                  string
	EngineGone, Kept, ClosedEarly, GoOn, StartAgain, StartEngine, TryAgain, LoadFailedF string
	ToBottom, ModelMissing, SampleTag, AddModels                                        string
	GreetingNoChat, UseInsteadF, PlaceholderNoChat                                      string

	// Library
	LibraryIntro, AddFile, AddFolder, Use, InUse, Fits, Tight, TooBig, FitUnknown    string
	Missing, MissingHint, FoundElsewhere, FoundHint, EmptyLibrary, EmptyHint         string
	DropHint, Parameters, Context, Quantization, Architecture, Size, Path            string
	Layers, Embedding, Vocab, Template, TemplateYes, TemplateNo, ThinkYes, Files     string
	License, Details, SearchModels, NothingFound, AddedF, AddFailedF, Scanning       string
	Sample, SampleNote, Tokens, InFolder, AddedManyF, AddedNone, NotRead, Unreadable string
	OnlyContinues, OnlyContinuesHint, NoVocab, NoVocabHint, NoVocabF                 string
	OneNotAddedF, NotAddedF, NoneAddedF, MoreNotAddedF                               string

	// Cards
	CardsIntro, CPUOnly, CPUOnlyHint, Topology, TopologyHint, StageF, LaneF string
	MemoryF, Weights, Cache, State, Scratch, Other, LoadF                   string
	NoTopology, Devices, ThreadsF, LayersF, PredictedF, MeasuredF           string
	Ways, WaysF, WaysHintF, WayOne, WayLanesF, WayStagesF, WayBothF         string
	WayProcessor, WayPartsF                                                 string
	WayFiguresF, WayInUse, WayBest, RepackCards, NoRoom, ShorterF           string
	OtherWayF, ChooseWay, RepackOffF, RepackOnF, Predicting                 string

	// Server
	ServerIntro, ServerOn, ServerOff, ServerStarting, Address, Port, Host    string
	HostLocal, HostNetwork, HostNetworkHint, Key, KeyNone, KeyNew, KeyRemove string
	KeyHint, KeyNeeded, Example, Requests, NoRequests, PortBad               string
	ServerModel, ServerApply, Access                                         string

	// Settings
	EngineSection, AnswerSection, LookSection, DataSection                                     string
	ThreadsLabel, ThreadsHintF, ContextLabel, ContextHint, ContextLongF, SlotsLabel, SlotsHint string
	KeysLabel, KeysHint, ValuesLabel, ValuesHint                                               string
	RepackLabel, RepackHint, LoadLabel, LoadHint, CardsLabel, CardsHintCPU, TPSLabel, TPSHint  string
	TPSHintOne, TPSHintNodesF, ReasoningLabel, ReasoningDefaultHint                            string
	TemperatureLabel, TemperatureHint, TopKLabel, TopKHint, TopPLabel                          string
	TopPHint, MinPLabel, MinPHint, RepeatLabel, RepeatHint, SeedLabel                          string
	SeedHint, MaxTokensLabel, MaxTokensHint, SystemLabel, SystemHint                           string
	ThemeLabel, ThemeSystem, ThemeLight, ThemeDark, DataLabel, DataHint                        string
	OpenFolder, Apply, ApplyRestart, Revert, Saved, SavedRestart, NumberBadF                   string
	Automatic, Unsaved, UnsavedRestart, AllCards, VersionF, BoundsF, Random                    string
}

var current atomic.Pointer[Table]

// T is the table in use; English until Use names another.
func T() *Table {
	if t := current.Load(); t != nil {
		return t
	}
	return &English
}

// Use shows the window in another language; call it before windows are made.
func Use(t *Table) { current.Store(t) }
