//! Writes the Rust code of packages. What a message type is made of stands in `runnel_core::message!`; here it is
//! only called.

use crate::collect::{GenerateError, Interfaces, Package};
use crate::docs::Comments;
use crate::tail::{self, TailField};
use crate::{names, values};
use runnel_core::schema::{
    ActionSchema, Arity, Element, Field, MessageDef, Primitive, Schema, ServiceSchema, TypeName,
};
use std::collections::{BTreeSet, HashSet};

/// A module for each package.
pub(crate) fn packages(interfaces: &Interfaces) -> Result<String, Vec<GenerateError>> {
    let mut out = String::from("// Written by runnel-gen; changes are lost with the next build.\n\n");
    let mut errors = Vec::new();
    for (name, package) in &interfaces.packages {
        errors.extend(same_names(name, package));
        let module = Module { package: name, own: &interfaces.own };
        out.push_str(&format!("/// The package `{name}`.\npub mod {} {{\n", names::module(name)));
        package.messages.iter().for_each(|schema| out.push_str(&module.message(schema)));
        package.services.iter().for_each(|service| out.push_str(&module.service(service)));
        package.actions.iter().for_each(|schema| out.push_str(&action(schema)));
        out.push_str("}\n\n");
    }
    if errors.is_empty() { Ok(out) } else { Err(errors) }
}

/// An error for each name that two types of a package would have.
fn same_names(package_name: &str, package: &Package) -> Vec<GenerateError> {
    let parts = package.services.iter().flat_map(|service| [&service.request, &service.response]);
    let schemas = package.messages.iter().chain(parts);
    let views = schemas.clone().filter_map(|schema| view_name(schema));
    let messages = schemas.map(|schema| type_name(&schema.def));
    let services = package.services.iter().map(|service| names::type_name(&service.name.name));
    let mut taken = HashSet::new();
    let twice = messages.chain(services).chain(views).filter(|name| !taken.insert(name.clone()));
    twice.map(|name| GenerateError::SameName { package: package_name.to_owned(), name }).collect()
}

/// Writes the types of one package.
struct Module<'a> {
    package: &'a str,
    own: &'a BTreeSet<TypeName>,
}

impl Module<'_> {
    fn service(&self, service: &ServiceSchema) -> String {
        let parts = [&service.request, &service.response].map(|part| self.message(part));
        let [request, response] = [&service.request, &service.response].map(|part| type_name(&part.def));
        let ServiceSchema { name, md5, .. } = service;
        format!(
            "::runnel::core::service! {{\n/// The service `{name}`.\n{}({request}) -> {response}, \"{name}\", \
             \"{md5}\"\n}}\n\n{}",
            names::type_name(&name.name),
            parts.concat()
        )
    }

    fn message(&self, schema: &Schema) -> String {
        let def = &schema.def;
        let comments = Comments::read(&def.text);
        let fields = names::fields(def.fields.iter().map(|field| field.name.as_str()));
        let default = default_impl(def, &fields);
        format!(
            "::runnel::core::message! {{\n{}{}{} {{\n{}}}\n\"{}\", \"{}\", header: {}, {:?}{}\n}}\n{}{}\n",
            summary(def, &comments),
            if default.is_empty() { "#[derive(Default)]\n" } else { "" },
            head(schema),
            self.fields(def, &fields, &comments),
            def.name,
            schema.md5,
            def.has_header(),
            schema.full_text,
            tail(schema),
            default,
            constants(def, &comments),
        )
    }

    fn fields(&self, def: &MessageDef, names: &[String], comments: &Comments) -> String {
        let line = |(field, name): (&Field, &String)| {
            let doc = doc(comments, &field.name, &field.spelling);
            let element = self.element_type(&field.element);
            format!("{doc}{name} \"{}\": {},\n", field.name, values::field_type(&element, field.arity))
        };
        def.fields.iter().zip(names).map(line).collect()
    }

    fn element_type(&self, element: &Element) -> String {
        match element {
            Element::Primitive(primitive) => values::primitive_type(*primitive).to_owned(),
            Element::Message(name) => {
                let type_name = names::type_name(&name.name);
                let module = names::module(&name.package);
                match self.own.contains(name) {
                    true if name.package == self.package => type_name,
                    true => format!("super::{module}::{type_name}"),
                    false => format!("::runnel::msgs::{module}::{type_name}"),
                }
            }
        }
    }
}

/// Joins an action's messages, which are written as all are.
fn action(schema: &ActionSchema) -> String {
    let ActionSchema { name, action, goal, result, feedback, .. } = schema;
    let [action, goal, result, feedback] = [action, goal, result, feedback].map(|part| type_name(&part.def));
    let travelling = [&schema.action_goal, &schema.action_result, &schema.action_feedback];
    let travelling = travelling.map(|part| type_name(&part.def)).join(", ");
    format!(
        "::runnel::core::action! {{ {action}({goal}, {result}, {feedback}), {travelling}, \"{name}\" }}\n\n"
    )
}

/// What leads the fields: the name, and that of the view if it has one of its own.
fn head(schema: &Schema) -> String {
    let name = type_name(&schema.def);
    match view_name(schema) {
        Some(view) => format!("{name} as {view}"),
        None => format!("plain {name}"),
    }
}

/// The name of a message's view, which a plain message does not have: it is seen as itself.
fn view_name(schema: &Schema) -> Option<String> {
    (!is_plain(schema)).then(|| format!("{}View", type_name(&schema.def)))
}

/// True if nothing but numbers is in a message, at any depth and outside arrays.
fn is_plain(schema: &Schema) -> bool {
    schema.def.fields.iter().zip(&schema.parts).all(|(field, part)| {
        field.arity == Arity::One && !field.element.is_text() && part.as_deref().is_none_or(is_plain)
    })
}

/// What follows a message's names if it ends in an array of numbers.
fn tail(schema: &Schema) -> String {
    match tail::tail(schema) {
        Some(TailField { path, element, behind }) => {
            format!(", tail: {}, element: {element}, behind: {behind}", path.join("."))
        }
        None => String::new(),
    }
}

fn type_name(def: &MessageDef) -> String {
    names::type_name(&def.name.name)
}

fn summary(def: &MessageDef, comments: &Comments) -> String {
    let of_file = comments.summary.as_ref().map(|text| format!("///\n/// {text}\n"));
    format!("/// `{}`.\n{}", def.name, of_file.unwrap_or_default())
}

/// A field's or constant's documentation: its comment, or how its type is spelled.
fn doc(comments: &Comments, name: &str, spelling: &str) -> String {
    match comments.of(name).filter(|text| !text.is_empty()) {
        Some(text) => format!("/// {text}\n"),
        None => format!("/// `{spelling}`.\n"),
    }
}

fn constants(def: &MessageDef, comments: &Comments) -> String {
    if def.constants.is_empty() {
        return String::new();
    }
    let names = names::constants(def.constants.iter().map(|constant| constant.name.as_str()));
    let lines: String = def
        .constants
        .iter()
        .zip(names)
        .map(|(constant, name)| {
            let doc = doc(comments, &constant.name, &constant.spelling);
            let (type_name, value) = values::constant(constant);
            format!("{doc}pub const {name}: {type_name} = {value};\n")
        })
        .collect();
    format!("impl {} {{\n{lines}}}\n", type_name(def))
}

/// The `Default` of a message for which it cannot be derived; otherwise nothing.
fn default_impl(def: &MessageDef, names: &[String]) -> String {
    let defaults: Vec<Option<String>> =
        def.fields.iter().map(|field| values::default(field, primitive(&field.element))).collect();
    if defaults.iter().all(Option::is_none) {
        return String::new();
    }
    let derived = || String::from("::core::default::Default::default()");
    let fields = names.iter().zip(defaults);
    let fields: String =
        fields.map(|(name, value)| format!("{name}: {},\n", value.unwrap_or_else(derived))).collect();
    format!(
        "impl ::core::default::Default for {} {{\nfn default() -> Self {{\nSelf {{\n{fields}}}\n}}\n}}\n",
        type_name(def)
    )
}

fn primitive(element: &Element) -> Option<Primitive> {
    match element {
        Element::Primitive(primitive) => Some(*primitive),
        Element::Message(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(messages: [(&str, &str); 2]) -> Package {
        let schema = |(name, text)| Schema::from_full_text(&TypeName::new("p", name), text).unwrap();
        Package { messages: messages.map(schema).into(), ..Package::default() }
    }

    #[test]
    fn a_name_that_two_types_would_have_is_told() {
        let twice = |messages| same_names("p", &package(messages));
        let same = |name: &str| vec![GenerateError::SameName { package: "p".into(), name: name.into() }];
        assert_eq!(twice([("my_foo", "int8 x"), ("MyFoo", "int8 x")]), same("MyFoo"));
        assert_eq!(twice([("Foo", "string s"), ("FooView", "int8 x")]), same("FooView"));
        assert_eq!(twice([("Foo", "int8 x"), ("FooView", "string s")]), []);
    }
}
