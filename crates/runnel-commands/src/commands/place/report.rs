//! What `runnel place` prints.

use serde_json::{Value as Json, json};

use super::engine::{ExplainedRule, Explanation, Move};
use crate::error::CliError;
use crate::output::{Output, print_error};

/// A line for a move, which may have failed.
///
/// # Errors
/// When standard output cannot be written.
pub fn moved(output: Output, moved: &Move, error: Option<&CliError>) -> Result<(), CliError> {
    let Move { node, to, why } = moved;
    if output.json {
        let error = error.map(ToString::to_string);
        return output
            .json(&json!({ "node": node, "to": to, "why": why, "moved": error.is_none(), "error": error }));
    }
    match error {
        None => output.line(&format!("{node} -> {to}: {why}")),
        Some(error) => {
            print_error(&format!("{node} was not moved to {to} ({why}): {error}"));
            Ok(())
        }
    }
}

/// What the rules say now.
///
/// # Errors
/// When standard output cannot be written.
pub fn explained(output: Output, nodes: &[Explanation]) -> Result<(), CliError> {
    output.answer(|| nodes.iter().map(text).collect(), || nodes.iter().map(json).collect())
}

fn text(node: &Explanation) -> String {
    let first = node.rules.iter().find(|rule| rule.applies == Some(true));
    let verdict = match (&node.to, first) {
        (None, _) => "not known, since too little is measured".to_owned(),
        (Some(to), Some(rule)) => format!("{to}, by {}", rule.name),
        (Some(to), None) => format!("{to}, its home: no rule applies"),
    };
    let rules = node.rules.iter().map(|rule| {
        let ExplainedRule { name, to, why, .. } = rule;
        format!("  {name}, to {to}: {}: {why}\n", state(rule))
    });
    format!("{}: {verdict}\n{}", node.node, rules.collect::<String>())
}

fn state(rule: &ExplainedRule) -> &'static str {
    match rule.applies {
        Some(true) => "applies",
        Some(false) => "does not apply",
        None => "not known",
    }
}

fn json(node: &Explanation) -> Json {
    let rules: Json = node
        .rules
        .iter()
        .map(|rule| json!({ "name": rule.name, "to": rule.to, "applies": rule.applies, "why": rule.why }))
        .collect();
    json!({ "node": node.node, "home": node.home, "to": node.to, "rules": rules })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explanation(applies: Option<bool>, to: Option<&str>) -> Explanation {
        let why = "cpu > 80 % (90 %)".to_owned();
        let rule = ExplainedRule { name: "load".into(), to: "station:1".into(), applies, why };
        Explanation {
            node: "/tracer".into(),
            home: "robot:1".into(),
            to: to.map(str::to_owned),
            rules: vec![rule],
        }
    }

    #[test]
    fn explanation_begins_with_the_host() {
        for (applies, to, expected) in [
            (
                Some(true),
                Some("station:1"),
                "/tracer: station:1, by load\n  load, to station:1: applies: cpu > 80 % (90 %)\n",
            ),
            (
                Some(false),
                Some("robot:1"),
                "/tracer: robot:1, its home: no rule applies\n  load, to station:1: does not apply: cpu > 80 % (90 %)\n",
            ),
            (
                None,
                None,
                "/tracer: not known, since too little is measured\n  load, to station:1: not known: cpu > 80 % (90 %)\n",
            ),
        ] {
            assert_eq!(text(&explanation(applies, to)), expected);
        }
        let expected = json!({
            "node": "/tracer", "home": "robot:1", "to": null,
            "rules": [{ "name": "load", "to": "station:1", "applies": null, "why": "cpu > 80 % (90 %)" }],
        });
        assert_eq!(json(&explanation(None, None)), expected);
    }
}
