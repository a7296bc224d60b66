//! The features of the packages against the definitions.

use runnel_core::schema::{Element, Generation, Kind, Library, TypeName};
use std::collections::{BTreeMap, BTreeSet};

/// Each feature of this crate with those that it switches on, from its manifest.
fn features() -> BTreeMap<String, BTreeSet<String>> {
    let manifest = include_str!("../../Cargo.toml");
    let (_, features) = manifest.split_once("[features]\n").expect("features");
    let (features, _) = features.split_once("\n[").expect("a table behind");
    let entries = features.split("]\n").filter_map(|entry| entry.rsplit_once(" = ["));
    let entry = |(name, list): (&str, &str)| {
        let name = name.lines().last().unwrap_or_default().to_owned();
        let words = list.split(['"', ',', ' ', '\n', ']']).filter(|word| !word.is_empty());
        (name, words.map(str::to_owned).collect())
    };
    entries.map(entry).collect()
}

/// All packages that a feature switches on, itself among them.
fn closure(features: &BTreeMap<String, BTreeSet<String>>, name: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::from([name.to_owned()]);
    for below in &features[name] {
        all.extend(closure(features, below));
    }
    all
}

fn uses(library: &Library, name: &TypeName) -> BTreeSet<String> {
    let schemas = Generation::ALL.map(|generation| library.message_in(generation, name).expect("a schema"));
    let fields = schemas.iter().flat_map(|schema| &schema.def.fields);
    let package = |element: &Element| match element {
        Element::Message(part) => Some(part.package.clone()),
        Element::Primitive(_) => None,
    };
    fields.filter_map(|field| package(&field.element)).collect()
}

#[test]
fn each_package_is_a_feature_with_the_packages_it_uses() {
    let (features, library) = (features(), runnel_msgs::library());
    let mut messages: Vec<TypeName> = library.names(Kind::Message).cloned().collect();
    for name in library.names(Kind::Service) {
        messages.extend(["Request", "Response"].map(|part| name.with_suffix(part)));
    }
    let mut packages = BTreeSet::new();
    for name in &messages {
        packages.insert(name.package.clone());
        let missing: Vec<_> =
            uses(&library, name).difference(&closure(&features, &name.package)).cloned().collect();
        assert!(missing.is_empty(), "{name} uses {missing:?}");
    }
    assert_eq!(features["all"], packages);
}
