//! Tests of persistent parameters with full disks, damaged files and links.

use std::process::Command;

use runnel_ros1::xmlrpc::decode_response;

use super::*;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("runnel_persist_{name}_{}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("params")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn set(key: &str, value: impl Into<Value>) -> ParamChange {
    ParamChange { key: key.to_owned(), value: Some(value.into()) }
}

fn start(folder: &Folder) -> PersistentMaster {
    PersistentMaster::new(MasterConfig::new("http://h:1/", 1), &folder.file()).expect("a master")
}

/// Requests a change from a master as a node does. Returns the status and the text of the answer.
fn ask(master: &mut PersistentMaster, change: &ParamChange) -> (i32, String) {
    let (node, key) = (Value::from("/node"), Value::from(change.key.as_str()));
    let body = match &change.value {
        Some(value) => encode_call(SET, &[node, key, value.clone()]),
        None => encode_call(DELETE, &[node, key]),
    };
    let body = body.expect("a call");
    let head = format!("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n", body.len());
    let (now, peer) = (Instant::default(), ([127, 0, 0, 1], 9).into());
    let conn = master.handle_accepted(now, Port::Rpc, peer).expect("accepted");
    master.handle_data(now, conn, &[head.as_bytes(), &body].concat());
    let transmits = std::iter::from_fn(|| master.poll_transmit());
    let sent = transmits.filter_map(|transmit| match transmit {
        Transmit::Send { bytes, .. } => Some(bytes),
        _ => None,
    });
    let answer: Vec<u8> = sent.flatten().collect();
    master.handle_closed(now, conn, None);
    let body = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("a head") + 4;
    let Ok(Ok(Value::Array(parts))) = decode_response(&answer[body..]) else { panic!("{answer:?}") };
    let [Value::Int(status), Value::String(text), _] = &parts[..] else { panic!("{parts:?}") };
    (*status, text.clone())
}

/// The value of a parameter.
fn value(master: &PersistentMaster, key: &str) -> Option<Value> {
    match master.master.params() {
        Some(Value::Struct(params)) => params.get(key).cloned(),
        other => panic!("{other:?}"),
    }
}

fn warnings(master: &mut PersistentMaster) -> Vec<String> {
    let notices = std::iter::from_fn(|| master.poll_engine_event());
    notices
        .filter_map(|notice| if let EngineEvent::Warning(text) = notice { Some(text) } else { None })
        .collect()
}

#[test]
fn parameters_are_restored() {
    let folder = Folder::new("again");
    let mut master = start(&folder);
    let text = "<a> & \"b\"\n17\n";
    let list = Value::Array(vec![1.5.into(), false.into()]);
    for change in [set("/a/b", text), set("/list", list), set("/gone", 3), set("/a/c", i32::MIN)] {
        assert_eq!(ask(&mut master, &change), (1, format!("parameter {} set", change.key)));
    }
    assert_eq!(ask(&mut master, &ParamChange { key: "/gone".into(), value: None }).0, 1);
    drop(master);
    for _ in 0..2 {
        let mut master = start(&folder);
        let Some(Value::Struct(params)) = master.master.params().cloned() else { panic!("parameters") };
        assert_eq!(params.keys().collect::<Vec<_>>(), ["a", "list"]);
        let Value::Struct(below) = &params["a"] else { panic!("{params:?}") };
        assert_eq!((&below["b"], &below["c"]), (&text.into(), &i32::MIN.into()));
        assert_eq!(warnings(&mut master), [""; 0]);
    }
}

#[test]
fn truncated_change_is_ignored() {
    let folder = Folder::new("torn");
    let mut master = start(&folder);
    assert_eq!(ask(&mut master, &set("/whole", 1)).0, 1);
    let whole = fs::read(folder.file()).expect("readable");
    assert_eq!(ask(&mut master, &set("/torn", 2)).0, 1);
    drop(master);
    let text = fs::read(folder.file()).expect("readable");
    for length in whole.len() + 1..text.len() {
        fs::write(folder.file(), &text[..length]).expect("written");
        let mut master = start(&folder);
        let Some(Value::Struct(params)) = master.master.params() else { panic!("parameters") };
        assert_eq!(params.keys().collect::<Vec<_>>(), ["whole"], "{length}");
        let [warning, kept] = &warnings(&mut master)[..] else { panic!("two warnings at {length}") };
        assert!(warning.contains(&format!("from byte {} on", whole.len())), "{warning}");
        let aside = kept.trim_end_matches(", in place of an older one").split(" is kept as ").last();
        let aside = fs::read(aside.expect("a name")).expect("kept aside");
        assert_eq!(aside, text[..length], "{kept}");
    }
}

#[test]
fn damaged_journals_are_kept() {
    let folder = Folder::new("aside");
    let damaged = |ending: &str| folder.0.join(format!("params.damaged{ending}"));
    let mut last = String::new();
    for number in 1..=DAMAGED + 1 {
        let mut text = TITLE.to_vec();
        // The root can only be a struct.
        text.extend(record("/", Some(&(number as i32).into())).expect("a record"));
        fs::write(folder.file(), text).expect("written");
        let warned = warnings(&mut start(&folder));
        let expected = format!("{}: parameter / is not restored: ", folder.file().display());
        assert!(warned[0].starts_with(&expected), "{warned:?}");
        last = warned[1].clone();
        assert_eq!(last.contains("in place of an older one"), number > DAMAGED, "{last}");
    }
    let read = |path: PathBuf| fs::read_to_string(path).expect("readable");
    assert!(read(damaged("")).contains(">1<"));
    assert!(read(damaged(".2")).contains(">2<"));
    assert!(read(damaged(".99")).contains(">100<"), "{last}");
}

#[test]
fn symbolic_link_and_permissions_stay() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("link");
    let target = folder.0.join("target");
    fs::write(&target, "").expect("written");
    fs::set_permissions(&target, fs::Permissions::from_mode(0o604)).expect("set");
    std::os::unix::fs::symlink("target", folder.file()).expect("a link");
    let mut master = start(&folder);
    assert_eq!(ask(&mut master, &set("/a", 1)).0, 1);
    assert!(fs::symlink_metadata(folder.file()).expect("there").is_symlink());
    let text = fs::read(&target).expect("readable");
    assert!(text.starts_with(TITLE) && text.len() > TITLE.len());
    let mode = fs::metadata(&target).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o604);
}

#[test]
fn special_file_is_refused() {
    let folder = Folder::new("pipe");
    let made = Command::new("mkfifo").arg(folder.file()).status().expect("run");
    assert!(made.success());
    let master = PersistentMaster::new(MasterConfig::new("http://h:1/", 1), &folder.file());
    let error = master.err().expect("refused").to_string();
    assert!(error.contains("not a regular file"), "{error}");
    assert!(!fs::metadata(folder.file()).expect("there").is_file());
}

/// Runs a test again in a process whose files are limited to a few kilobytes: a write beyond that stops in the middle,
/// as on a full disk. True in that process.
fn with_small_file_limit(test: &str) -> bool {
    if std::env::var_os("RUNNEL_LITTLE_ROOM").is_some() {
        return true;
    }
    let mut again = Command::new("sh");
    again.args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$@\"", "sh"]);
    again.arg(std::env::current_exe().expect("a path"));
    again.args(["--exact", &format!("context::persist::tests::{test}")]).env("RUNNEL_LITTLE_ROOM", "1");
    let output = again.output().expect("run");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    false
}

#[test]
fn change_that_is_not_stored_is_refused() {
    if !with_small_file_limit("change_that_is_not_stored_is_refused") {
        return;
    }
    let folder = Folder::new("refused");
    let mut master = start(&folder);
    assert_eq!(ask(&mut master, &set("/kept", 1)).0, 1);
    let before = fs::read(folder.file()).expect("readable");
    for count in 1..4 {
        let (status, text) = ask(&mut master, &set("/big", "x".repeat(10_000)));
        assert_eq!(status, 0, "{text}");
        assert!(text.contains("/big is not changed") && text.contains("File too large"), "{text}");
        let warned = warnings(&mut master);
        let [warned] = &warned[..] else { panic!("{warned:?}") };
        assert!(
            warned.contains("/big is not changed for /node") && warned.contains(&format!("({count} refused"))
        );
        // The answer of the master, its state and the file agree.
        assert_eq!((value(&master, "big"), master.master.unstored_params()), (None, count));
        assert_eq!(fs::read(folder.file()).expect("readable"), before, "no half of /big stands there");
    }
    assert_eq!(ask(&mut master, &set("/small", 1)).0, 1);
    assert!(!folder.0.join("params.new").exists());
    drop(master);
    let mut master = start(&folder);
    assert_eq!(warnings(&mut master), [""; 0]);
    assert_eq!([value(&master, "kept"), value(&master, "small")], [Some(1.into()), Some(1.into())]);
}

#[test]
fn deletion_that_is_not_stored_is_refused() {
    if !with_small_file_limit("deletion_that_is_not_stored_is_refused") {
        return;
    }
    let folder = Folder::new("deletion");
    let mut master = start(&folder);
    // Distinct names, so that compaction frees nothing.
    let mut full = 0;
    while ask(&mut master, &set(&format!("/p{full}"), "x".repeat(100))).0 == 1 {
        full += 1;
        assert!(full < 10_000, "the disk is never full");
    }
    let mut deleted = 0;
    while ask(&mut master, &ParamChange { key: format!("/p{deleted}"), value: None }).0 == 1 {
        deleted += 1;
        assert_eq!(value(&master, &format!("p{}", deleted - 1)), None);
    }
    assert!(full > 10 && (deleted == full || value(&master, &format!("p{deleted}")).is_some()));
    let known = master.master.params().cloned();
    drop(master);
    assert_eq!(start(&folder).master.params().cloned(), known);
}

#[test]
fn full_journal_gives_way_to_present_values() {
    if !with_small_file_limit("full_journal_gives_way_to_present_values") {
        return;
    }
    let folder = Folder::new("full");
    let mut master = start(&folder);
    let long = "x".repeat(1000);
    for number in 0..40 {
        let change = set("/again", format!("{number} {long}"));
        assert_eq!(ask(&mut master, &change).0, 1, "{number}");
    }
    drop(master);
    let mut master = start(&folder);
    assert_eq!(warnings(&mut master), [""; 0]);
    assert_eq!(value(&master, "again"), Some(format!("39 {long}").into()));
}

/// A journal of 6000 bytes or more cannot be compacted, since the disk has no space for a copy.
#[test]
fn master_starts_from_torn_journal_on_full_disk() {
    let name = "master_starts_from_torn_journal_on_full_disk";
    let folder = Folder::new("start");
    if std::env::var_os("RUNNEL_LITTLE_ROOM").is_none() {
        let mut master = start(&folder);
        assert_eq!(ask(&mut master, &set("/whole", "x".repeat(9000))).0, 1);
        drop(master);
        let whole = fs::read(folder.file()).expect("readable");
        fs::write(folder.file(), [&whole[..], b"77\n<?xml"].concat()).expect("written");
        let mut again = Command::new("sh");
        again.args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$@\"", "sh"]);
        again
            .arg(std::env::current_exe().expect("a path"))
            .args(["--exact", &format!("context::persist::tests::{name}")]);
        let output = again.env("RUNNEL_LITTLE_ROOM", folder.file()).output().expect("run");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
        // With free space everything works again.
        let mut master = start(&folder);
        assert_eq!(ask(&mut master, &set("/next", 1)).0, 1);
        drop(master);
        let mut master = start(&folder);
        assert_eq!((warnings(&mut master), value(&master, "next")), (Vec::new(), Some(1.into())));
        return;
    }
    let path = PathBuf::from(std::env::var_os("RUNNEL_LITTLE_ROOM").expect("set"));
    let before = fs::read(&path).expect("readable");
    let mut master = PersistentMaster::new(MasterConfig::new("http://h:1/", 1), &path).expect("a master");
    assert_eq!(value(&master, "whole"), Some("x".repeat(9000).into()));
    let warned = warnings(&mut master);
    assert!(warned[0].contains("is ignored") && warned[1].contains("cannot be compacted"), "{warned:?}");
    let (status, text) = ask(&mut master, &set("/next", 1));
    assert!(status == 0 && text.contains("/next is not changed"), "{text}");
    assert_eq!(fs::read(&path).expect("readable"), before);
    assert!(!path.with_extension("damaged").exists());
}

#[test]
fn journal_of_changing_parameter_stays_short() {
    let folder = Folder::new("short");
    let mut master = start(&folder);
    let long = "x".repeat(10_000);
    for number in 0..1000 {
        assert_eq!(ask(&mut master, &set("/pose", format!("{number} {long}"))).0, 1);
    }
    assert!(fs::metadata(folder.file()).expect("there").len() <= SHORT + 20_000);
    drop(master);
    let Some(Value::Struct(params)) = start(&folder).master.params().cloned() else { panic!("parameters") };
    assert_eq!(params["pose"], format!("999 {long}").into());
}

#[test]
fn two_masters_do_not_share_a_file() {
    let folder = Folder::new("two");
    let _first = start(&folder);
    let second = PersistentMaster::new(MasterConfig::new("http://h:2/", 2), &folder.file());
    let error = second.err().expect("refused").to_string();
    assert!(error.contains("another master stores its parameters there"), "{error}");
}

#[test]
fn file_without_title_is_refused() {
    let folder = Folder::new("other");
    fs::write(folder.file(), "speed: 3\n").expect("written");
    let master = PersistentMaster::new(MasterConfig::new("http://h:1/", 1), &folder.file());
    let error = master.err().expect("refused").to_string();
    assert!(error.contains("it is not a journal"), "{error}");
    assert_eq!(fs::read(folder.file()).expect("readable"), b"speed: 3\n");
}
