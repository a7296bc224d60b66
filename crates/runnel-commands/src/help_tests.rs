//! The help of all commands, compared with `tests/help.txt`. `RUNNEL_UPDATE_HELP=1` rewrites that file.

use std::fs;
use std::path::Path;

use clap::Command;

use crate::commands;
use crate::ros1::Program;
use crate::ros2_program;

/// Columns of the terminal.
const WIDTH: usize = 80;

/// Appends the output of `path --help`, and of all subcommands.
fn append_help(program: &Command, command: &Command, path: &[&str], text: &mut String) {
    let typed = path.iter().chain(&["--help"]);
    let shown = program.clone().term_width(WIDTH).try_get_matches_from(typed).expect_err("help is no match");
    text.push_str(&format!("## {} --help\n\n{shown}\n", path.join(" ")));
    let shown = |command: &&Command| command.get_name() != "help" && !command.is_hide_set();
    for subcommand in command.get_subcommands().filter(shown) {
        append_help(program, subcommand, &[path, &[subcommand.get_name()]].concat(), text);
    }
}

fn whole_help() -> String {
    let mut text = String::new();
    append_help(&commands::command(), &commands::command(), &["runnel"], &mut text);
    for program in Program::ALL.iter().copied() {
        append_help(&program.command(), &program.command(), &[program.name()], &mut text);
    }
    let ros2 = ros2_program::own_command();
    append_help(&ros2, &ros2, &["ros2"], &mut text);
    let trimmed = text.lines().map(|line| line.trim_end().to_owned() + "\n");
    trimmed.collect()
}

#[test]
fn help_matches_the_reference() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/help.txt");
    let help = whole_help();
    if std::env::var_os("RUNNEL_UPDATE_HELP").is_some() {
        fs::write(&path, &help).expect("the reference can be written");
    }
    let reference = fs::read_to_string(&path).expect("the reference is there");
    assert!(
        help == reference,
        "the help has changed; run this test with RUNNEL_UPDATE_HELP=1 and look at the diff"
    );
}

#[test]
fn help_fits_into_80_columns() {
    let wide: Vec<String> =
        whole_help().lines().filter(|line| line.chars().count() > WIDTH).map(str::to_owned).collect();
    assert_eq!(wide, [""; 0]);
}

#[test]
fn command_line_is_sound() {
    commands::command().debug_assert();
}
