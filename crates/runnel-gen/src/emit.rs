//! Emission of Rust code for packages. `runnel_core::message!` implements message types; the emitted code calls it.

use crate::collect::{Action, GenerateError, Interfaces, Package, Service};
use crate::docs::Comments;
use crate::merge::{Member, MergeError, Message};
use crate::tail::{self, TailField};
use crate::{names, values};
use runnel_core::schema::{ActionSchema, Constant, Element, Schema, TypeName};
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};

/// Emits a module for each package.
pub(crate) fn packages(interfaces: &Interfaces) -> Result<String, Vec<GenerateError>> {
    let mut out = String::from("// Written by runnel-gen; changes are lost with the next build.\n\n");
    let mut errors = same_modules(interfaces.packages.keys());
    for (name, package) in &interfaces.packages {
        errors.extend(same_names(name, package));
        let module = Module { package: name, own: &interfaces.own };
        out.push_str(&format!("/// The package `{name}`.\npub mod {} {{\n", names::module(name)));
        for message in messages(package) {
            match module.message(message) {
                Ok(code) => out.push_str(&code),
                Err(error) => errors.push(error),
            }
        }
        services(package).for_each(|code| out.push_str(&service(code)));
        package.actions.iter().for_each(|code| out.push_str(&action(code)));
        out.push_str("}\n\n");
    }
    interfaces.left_out.iter().for_each(|name| out.push_str(&left_out(name)));
    if errors.is_empty() { Ok(out) } else { Err(errors) }
}

/// The module of a package whose feature is off: the compiler names the feature in its error about a use of the module.
fn left_out(package: &str) -> String {
    format!("#[cfg(feature = \"{package}\")]\npub mod {} {{}}\n\n", names::module(package))
}

/// Emits a macro that passes the path of every message to another macro, for tests of all messages.
pub(crate) fn message_list(interfaces: &Interfaces) -> String {
    let mut out = String::from(
        "/// Calls a macro with the path of every message, such as `std_msgs::String`, each with a comma behind.\n\
         #[doc(hidden)]\n#[macro_export]\nmacro_rules! each_message {\n($with:ident) => { $with! {\n",
    );
    for (name, package) in &interfaces.packages {
        for message in messages(package) {
            out.push_str(&format!("{}::{},\n", names::module(name), type_name(message)));
        }
    }
    out.push_str("} };\n}\n");
    out
}

/// The messages of a package, including those of its services.
fn messages(package: &Package) -> impl Iterator<Item = &Message> + Clone {
    let parts = package.services.iter().flat_map(|service| [&service.request, &service.response]);
    package.messages.iter().chain(parts)
}

/// The services of a package, including those of its actions.
fn services(package: &Package) -> impl Iterator<Item = &Service> {
    package.services.iter().chain(package.actions.iter().flat_map(|action| &action.services))
}

/// Errors for names that two types of a package share.
fn same_names(package_name: &str, package: &Package) -> Vec<GenerateError> {
    let views = messages(package).filter_map(|message| {
        let view = view_name(message)?;
        Some((format!("the view of {}", message.name().name), view))
    });
    let messages = messages(package).map(|message| (message.name().name.clone(), type_name(message)));
    let services = services(package).map(|service| {
        let name = &service.ros1.name.name;
        (format!("service {name}"), names::type_name(name))
    });
    let twice = taken_twice(messages.chain(services).chain(views));
    let package = package_name;
    twice.map(|(types, name)| GenerateError::SameName { package: package.to_owned(), types, name }).collect()
}

/// Errors for modules that two packages share.
fn same_modules<'a>(packages: impl Iterator<Item = &'a String>) -> Vec<GenerateError> {
    let twice = taken_twice(packages.map(|package| (package.clone(), names::module(package))));
    twice.map(|(packages, module)| GenerateError::SameModule { packages, module }).collect()
}

/// Finds names used twice; returns each with its first and second user.
fn taken_twice(
    things: impl Iterator<Item = (String, String)>,
) -> impl Iterator<Item = ([String; 2], String)> {
    let mut taken: HashMap<String, String> = HashMap::new();
    things.filter_map(move |(thing, name)| match taken.entry(name) {
        Entry::Occupied(first) => Some(([first.get().clone(), thing], first.key().clone())),
        Entry::Vacant(free) => {
            free.insert(thing);
            None
        }
    })
}

/// Emitter of the types of one package.
struct Module<'a> {
    package: &'a str,
    own: &'a BTreeSet<TypeName>,
}

impl Module<'_> {
    fn message(&self, message: &Message) -> Result<String, GenerateError> {
        let name = message.name();
        let differs = |(field, how): (String, MergeError)| GenerateError::Differs {
            message: name.clone(),
            name: field,
            how,
        };
        let Message { ros1, ros2 } = message;
        let members = message.members().map_err(differs)?;
        let constants = message.constants().map_err(differs)?;
        let comments = Comments::read(&ros1.def.text).or(Comments::read(&ros2.def.text));
        let fields = names::fields(members.iter().map(|member| member.field.name.as_str()));
        let default = default_impl(message, &members, &fields);
        Ok(format!(
            "::runnel::core::message! {{\n{}{}{} {{\n{}}}\n\"{name}\", \"{}\", header: {}, {:?},\n\
             ros2: \"{}\", \"{}\", \"{}\"{}{}\n}}\n{}{}\n",
            summary(name, &comments),
            if default.is_empty() { "#[derive(Default)]\n" } else { "" },
            head(message),
            self.fields(&members, &fields, &comments),
            ros1.md5,
            ros1.def.has_header(),
            ros1.full_text,
            ros2.def.ros2_name,
            ros2.def.dds_name(),
            ros2.rihs01().unwrap_or_default(),
            tail("tail", ros1),
            tail("ros2_tail", ros2),
            default,
            constants_impl(message, &constants, &comments),
        ))
    }

    fn fields(&self, members: &[Member<'_>], names: &[String], comments: &Comments) -> String {
        let line = |(member, name): (&Member<'_>, &String)| {
            let field = member.field;
            let doc = doc(comments, &field.name, &field.spelling);
            let element = self.element_type(&field.element);
            let field_type = values::field_type(&element, field.arity);
            format!("{doc}{name} \"{}\"{}: {field_type},\n", field.name, member.marks())
        };
        members.iter().zip(names).map(line).collect()
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

/// Emits the service that joins two messages.
fn service(service: &Service) -> String {
    let [request, response] = [&service.request, &service.response].map(type_name);
    let name = &service.ros1.name;
    format!(
        "::runnel::core::service! {{\n/// The service `{name}`.\n{}({request}) -> {response}, \"{name}\", \"{}\", \
         ros2: \"{}\", \"{}\"\n}}\n\n",
        names::type_name(&name.name),
        service.ros1.md5,
        service.ros2.ros2_name,
        service.ros2.rihs01().unwrap_or_default(),
    )
}

/// Emits the action that joins its messages.
fn action(schema: &Action) -> String {
    let ActionSchema { name, action, goal, result, feedback, .. } = &schema.ros1;
    let name_of = |part: &Schema| names::type_name(&part.def.name.name);
    let [action, goal, result, feedback] = [action, goal, result, feedback].map(|part| name_of(part));
    let travelling = [&schema.ros1.action_goal, &schema.ros1.action_result, &schema.ros1.action_feedback];
    let travelling = travelling.map(|part| name_of(part)).join(", ");
    let [send_goal, get_result] = schema.services.each_ref().map(|one| names::type_name(&one.ros1.name.name));
    let feedback_message = names::type_name(&format!("{}FeedbackMessage", name.name));
    format!(
        "::runnel::core::action! {{ {action}({goal}, {result}, {feedback}), {travelling}, \"{name}\", \
         ros2: {send_goal}, {get_result}, {feedback_message}, \"{}\", \"{}\" }}\n\n",
        schema.ros2.ros2_name(),
        schema.ros2.rihs01().unwrap_or_default(),
    )
}

/// The head of a message: its name, and the name of its view if it has one.
fn head(message: &Message) -> String {
    let name = type_name(message);
    match view_name(message) {
        Some(view) => format!("{name} as {view}"),
        None => format!("plain {name}"),
    }
}

/// The name of a message's view. A plain message needs none.
fn view_name(message: &Message) -> Option<String> {
    (!message.is_plain()).then(|| format!("{}View", type_name(message)))
}

/// The tail of a message that ends in an array of numbers.
fn tail(key: &str, schema: &Schema) -> String {
    match tail::tail(schema) {
        Some(TailField { path, element, behind }) => {
            format!(", {key}: {}, element: {element}, behind: {behind}", path.join("."))
        }
        None => String::new(),
    }
}

fn type_name(message: &Message) -> String {
    names::type_name(&message.name().name)
}

fn summary(name: &TypeName, comments: &Comments) -> String {
    let of_file = comments.summary.as_ref().map(|text| format!("///\n/// {text}\n"));
    format!("/// `{name}`.\n{}", of_file.unwrap_or_default())
}

/// Documentation of a field or constant: its comment, or else its type.
fn doc(comments: &Comments, name: &str, spelling: &str) -> String {
    match comments.of(name).filter(|text| !text.is_empty()) {
        Some(text) => format!("/// {text}\n"),
        None => format!("/// `{spelling}`.\n"),
    }
}

fn constants_impl(message: &Message, constants: &[&Constant], comments: &Comments) -> String {
    if constants.is_empty() {
        return String::new();
    }
    let names = names::constants(constants.iter().map(|constant| constant.name.as_str()));
    let lines: String = constants
        .iter()
        .zip(names)
        .map(|(constant, name)| {
            let doc = doc(comments, &constant.name, &constant.spelling);
            let (type_name, value) = values::constant(constant);
            format!("{doc}pub const {name}: {type_name} = {value};\n")
        })
        .collect();
    format!("impl {} {{\n{lines}}}\n", type_name(message))
}

/// The `Default` implementation of a message that cannot derive it; otherwise empty.
fn default_impl(message: &Message, members: &[Member<'_>], names: &[String]) -> String {
    let defaults: Vec<Option<String>> =
        members.iter().map(|member| values::default(member.field, member.default())).collect();
    if defaults.iter().all(Option::is_none) {
        return String::new();
    }
    let derived = || String::from("::core::default::Default::default()");
    let fields = names.iter().zip(defaults);
    let fields: String =
        fields.map(|(name, value)| format!("{name}: {},\n", value.unwrap_or_else(derived))).collect();
    format!(
        "impl ::core::default::Default for {} {{\nfn default() -> Self {{\nSelf {{\n{fields}}}\n}}\n}}\n",
        type_name(message)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use runnel_core::schema::Generation;

    fn package(messages: [(&str, &str); 2]) -> Package {
        let message = |(name, text)| {
            let form = |generation| Schema::from_full_text_in(generation, &TypeName::new("p", name), text);
            let [ros1, ros2] = Generation::ALL.map(|generation| form(generation).unwrap());
            Message { ros1, ros2 }
        };
        Package { messages: messages.map(message).into(), ..Package::default() }
    }

    #[test]
    fn duplicate_type_name_is_an_error() {
        let twice = |messages| same_names("p", &package(messages));
        let same = |types: [&str; 2], name: &str| {
            let types = types.map(str::to_owned);
            vec![GenerateError::SameName { package: "p".into(), types, name: name.into() }]
        };
        assert_eq!(twice([("my_foo", "int8 x"), ("MyFoo", "int8 x")]), same(["my_foo", "MyFoo"], "MyFoo"));
        let view = ["FooView", "the view of Foo"];
        assert_eq!(twice([("Foo", "string s"), ("FooView", "int8 x")]), same(view, "FooView"));
        assert_eq!(twice([("Foo", "int8 x"), ("FooView", "string s")]), []);
    }

    #[test]
    fn duplicate_module_is_an_error() {
        let packages = |names: [&str; 2]| same_modules(names.map(str::to_owned).iter());
        let [error] = packages(["myMsgs", "my_msgs"]).try_into().unwrap();
        assert_eq!(
            GenerateError::to_string(&error),
            "packages myMsgs and my_msgs would both be the module my_msgs in Rust; rename one of them"
        );
        assert_eq!(packages(["my_msgs", "other_msgs"]), []);
    }
}
