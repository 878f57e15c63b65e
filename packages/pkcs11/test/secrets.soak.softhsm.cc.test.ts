// The same search with whole lists, and each pair of them.
import "./secrets.softhsm.cc.test.ts";
