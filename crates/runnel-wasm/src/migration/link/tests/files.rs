//! The files of a host.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;

use super::{Host, folder};
use crate::migration::link::{Fingerprint, Identity, TrustedHosts};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn identity_is_created_once_for_this_user_only() {
    let (_parent, folder) = folder();
    let created = Identity::load_or_create(&folder).unwrap().fingerprint();
    assert_eq!((mode(&folder), mode(&folder.join("identity.pem"))), (0o700, 0o600));
    assert_eq!(Identity::load_or_create(&folder).unwrap().fingerprint(), created);
    let files: Vec<_> = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(files, ["identity.pem"]);
}

#[test]
fn processes_that_begin_at_the_same_time_have_one_identity() {
    let (_parent, folder) = folder();
    let load = || Identity::load_or_create(&folder).unwrap().fingerprint();
    let mut all: Vec<Fingerprint> = thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(load)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    all.dedup();
    assert_eq!(all.len(), 1, "{all:?}");
}

#[test]
fn identity_that_others_can_read_is_refused() {
    let (_parent, folder) = folder();
    Identity::load_or_create(&folder).unwrap();
    let file = folder.join("identity.pem");
    for (path, mode, refused) in [(&file, 0o640, true), (&file, 0o600, false), (&folder, 0o755, true)] {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        let loaded = Identity::load_or_create(&folder);
        assert_eq!(loaded.is_err(), refused, "{} {mode:o}", path.display());
        if let Err(error) = loaded {
            let advice = format!("Try: chmod go-rwx {}", path.display());
            assert!(error.to_string().ends_with(&advice), "{error}");
        }
    }
}

#[test]
fn damaged_identity_is_refused_and_kept() {
    let (host, other) = (Host::new(), Host::new());
    let file = host.folder.join("identity.pem");
    let (own, others) = (fs::read_to_string(&file).unwrap(), {
        fs::read_to_string(other.folder.join("identity.pem")).unwrap()
    });
    let own_key = own.split("-----BEGIN CERT").next().unwrap();
    let others_certificate = &others[others.find("-----BEGIN CERT").unwrap()..];
    let key = own.lines().nth(1).unwrap();
    let other_key_bytes = own.replacen(&key[30..34], if &key[30..34] == "AAAA" { "BBBB" } else { "AAAA" }, 1);
    for (damaged, why) in [
        (String::new(), "it has no private key in PEM"),
        (own[..own.len() / 2].to_owned(), "it has no "),
        (own_key.to_owned(), "it has no certificate in PEM"),
        (format!("{own_key}{others_certificate}"), "its key and certificate cannot be used: "),
        (other_key_bytes, "its key and certificate cannot be used: "),
    ] {
        fs::write(&file, &damaged).unwrap();
        let error = Identity::load_or_create(&host.folder).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{}: {why}", file.display())), "{error}");
        assert_eq!(fs::read_to_string(&file).unwrap(), damaged);
    }
}

#[test]
fn trusted_hosts_are_added_renamed_and_removed() {
    let (_parent, folder) = folder();
    let trusted = TrustedHosts::in_folder(&folder);
    assert_eq!(trusted.list().unwrap(), []);
    let [a, b] = [b"a", b"b"].map(|certificate| Fingerprint::of_certificate(certificate));
    trusted.add(a, Some("robot")).unwrap();
    trusted.add(b, None).unwrap();
    let file = folder.join("trusted_hosts");
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text, format!("{a} robot\n{b}\n"));
    fs::write(&file, format!("# Hosts of the lab\n\n{text}")).unwrap();
    trusted.add(a, Some("robot 2")).unwrap();
    let names = || trusted.list().unwrap().into_iter().map(|host| host.name).collect::<Vec<_>>();
    assert_eq!(names(), ["robot 2", &b.to_string()]);
    assert_eq!(trusted.find(a).unwrap().unwrap().name, "robot 2");
    assert_eq!(trusted.remove("robot").unwrap(), None);
    assert_eq!(trusted.remove(&b.to_string()).unwrap().unwrap().fingerprint, b);
    assert_eq!(fs::read_to_string(&file).unwrap(), format!("# Hosts of the lab\n\n{a} robot 2\n"));
    assert_eq!(trusted.remove("robot 2").unwrap().unwrap().fingerprint, a);
    assert_eq!(names(), [""; 0]);
}

#[test]
fn hosts_that_are_added_at_the_same_time_are_all_trusted() {
    let (_parent, folder) = folder();
    let trusted = TrustedHosts::in_folder(&folder);
    thread::scope(|scope| {
        for number in 0..16_u8 {
            let trusted = &trusted;
            scope.spawn(move || trusted.add(Fingerprint::of_certificate(&[number]), None).unwrap());
        }
    });
    assert_eq!(trusted.list().unwrap().len(), 16);
}

#[test]
fn invalid_lists_are_refused_by_line() {
    let (_parent, folder) = folder();
    let trusted = TrustedHosts::in_folder(&folder);
    let [a, b] = [b"a", b"b"].map(|certificate| Fingerprint::of_certificate(certificate));
    trusted.add(a, Some("robot")).unwrap();
    let file = folder.join("trusted_hosts");
    for (line, why) in [
        ("robot".to_owned(), "\"robot\" is no fingerprint"),
        (format!("robot {b}"), "\"robot\" is no fingerprint"),
        (format!("{b} robot"), "the fingerprint or the name robot is on a line before"),
        (format!("{a} other"), "the fingerprint or the name other is on a line before"),
        (format!("{b} {a}"), "is not valid: at most 100 characters"),
        (format!("{b} {}", "x".repeat(101)), "is not valid: at most 100 characters"),
        (format!("{b} a\u{7}"), "is not valid: at most 100 characters"),
    ] {
        fs::write(&file, format!("# comment\n{a} robot\n{line}\n")).unwrap();
        let error = trusted.list().unwrap_err().to_string();
        assert!(error.starts_with(&format!("{}:3: ", file.display())) && error.contains(why), "{error}");
        assert_eq!(trusted.add(b, None).unwrap_err().to_string(), error, "it is not changed");
    }
    fs::write(&file, "").unwrap();
    assert!(trusted.add(a, Some("a\nb")).is_err());
    trusted.add(a, Some("robot")).unwrap();
    let taken = trusted.add(b, Some("robot")).unwrap_err().to_string();
    assert!(taken.contains("the name robot is on a line before"), "{taken}");
    fs::set_permissions(&file, Permissions::from_mode(0o666)).unwrap();
    assert!(trusted.list().unwrap_err().to_string().contains("Try: chmod go-w "));
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    assert_eq!(trusted.list().unwrap().len(), 1);
}
