// The same search with each value in each place.
import "./secrets-arguments.test.ts";
