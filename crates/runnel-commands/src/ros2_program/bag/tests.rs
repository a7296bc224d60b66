use std::path::PathBuf;

use clap::FromArgMatches;

use super::*;

fn parsed(line: &str) -> Result<Command, String> {
    let words = std::iter::once("bag").chain(line.split_whitespace());
    let command =
        crate::originals::as_originals_parse(Command::augment_subcommands(clap::Command::new("bag")));
    let matches = command.try_get_matches_from(words).map_err(|error| error.to_string())?;
    Command::from_arg_matches(&matches).map_err(|error| error.to_string())
}

fn record(line: &str) -> Result<(bag::record::Args, Vec<&'static str>), String> {
    let Command::Record(args) = parsed(&format!("record -a {line}"))? else { panic!("another command") };
    let args = args.of_runnel().map_err(|failure| failure.to_string())?;
    let notes = args.accepted.notes().collect();
    Ok((args, notes))
}

fn played_bags(line: &str) -> Result<Vec<PathBuf>, String> {
    let Command::Play(args) = parsed(&format!("play {line}"))? else { panic!("another command") };
    Ok(args.of_runnel().map_err(|failure| failure.to_string())?.bags)
}

#[test]
fn recorder_has_the_options_of_the_original() {
    let line = "-f cdr --disable-keyboard-controls --max-bag-files 0 --log-level debug -b 5000 \
                --compression-mode file --compression-format zstd --compression-threads 4";
    let (args, notes) = record(line).expect("sound");
    assert_eq!(notes, [""; 0]);
    assert!(args.disable_keyboard_controls);
    assert_eq!((args.limits.max_splits, args.limits.max_bag_size), (None, Some(5000)));
    assert_eq!(args.output.shared_compression.threads(), 4);
    for (option, name) in [
        ("-p 50", "--polling-interval"),
        ("--compression-queue-size 1", "--compression-queue-size"),
        ("--compression-threads-priority -5", "--compression-threads-priority"),
    ] {
        let (_, notes) = record(option).expect("sound");
        assert!(notes.len() == 1 && notes[0].starts_with(name), "{option}: {notes:?}");
    }
    let line = "--custom-data a=b c=d=e --repeat-transient-local /map=3 /tf_static --stats_max_publishing_rate 0 \
                --include-unpublished-topics --ignore-leaf-topics --all-actions --exclude-actions /fib";
    let (args, _) = record(line).expect("sound");
    let texts =
        |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect::<Vec<_>>();
    assert_eq!(args.output.custom_data, texts(&[("a", "b"), ("c", "d=e")]));
    assert_eq!(args.output.repeat_transient_local, [("/map".to_owned(), 3), ("/tf_static".to_owned(), 1)]);
    assert!(
        args.topics.include_unpublished_topics && args.topics.ignore_leaf_topics && args.topics.all_actions
    );
    for refused in [
        "--custom-data x",
        "--repeat-transient-local /map=0",
        "--stats_max_publishing_rate -1",
        "--storage-config-file x.yaml",
        "-f json",
        "-s sqlite3",
        "--log-level loud",
        "--compression-threads 1000",
    ] {
        assert!(record(refused).is_err(), "{refused}");
    }
}

#[test]
fn input_is_a_bag_and_its_format() {
    let bags = |names: &[&str]| Ok(names.iter().map(PathBuf::from).collect::<Vec<_>>());
    for (line, expected) in [
        ("a", &["a"][..]),
        ("-i a", &["a"]),
        ("-i a mcap", &["a"]),
        ("-i a sqlite3 --input b -i c mcap -r 2", &["a", "b", "c"]),
        ("a -i b", &["a", "b"]),
    ] {
        assert_eq!(played_bags(line), bags(expected), "{line}");
    }
    let why = played_bags("-i a b").expect_err("b is no format");
    assert!(why.contains("Try: -i a -i b"), "{why}");
    assert!(played_bags("-r 2").is_err() && played_bags("-i a mcap b c").is_err());
}

#[test]
fn player_has_the_options_of_the_original() {
    for options in ["--progress-bar-update-rate 0", "--progress-bar-update-rate -1", "--log-level WARN"] {
        assert!(played_bags(&format!("a {options}")).is_ok(), "{options}");
    }
    assert!(played_bags("a --progress-bar-update-rate x").is_err());
}

#[test]
fn kinds_of_parts_are_listed_by_either_name() {
    for kind in ["", "storage", "converter", "compression", "decompressor --verbose"] {
        assert!(matches!(parsed(&format!("list {kind}")), Ok(Command::List(_))), "{kind}");
    }
    assert!(parsed("list plugins").is_err());
}
