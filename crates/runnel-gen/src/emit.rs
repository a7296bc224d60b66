//! Emission of Rust code for packages. `runnel_core::message!` implements message types; the emitted code calls it.

use crate::collect::{Action, GenerateError, Interfaces, Package, Service};
use crate::docs::Comments;
use crate::merge::{Member, MergeError, Message};
use crate::tail::{self, TailField};
use crate::{names, values};
use runnel_core::schema::{ActionSchema, Constant, Element, Schema, TypeName};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Of which kind of file types come, and so in which module of their package they are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Msg,
    Srv,
    Action,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Msg, Self::Srv, Self::Action];

    fn module(self) -> &'static str {
        match self {
            Self::Msg => "msg",
            Self::Srv => "srv",
            Self::Action => "action",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Msg => "Messages",
            Self::Srv => "Services",
            Self::Action => "Actions",
        }
    }

    /// That of a message which is not of a service.
    fn of(message: &TypeName, interfaces: &Interfaces) -> Self {
        if interfaces.of_actions.contains(message) { Self::Action } else { Self::Msg }
    }
}

/// Emits a module for each package.
pub(crate) fn packages(interfaces: &Interfaces) -> Result<String, Vec<GenerateError>> {
    let mut out = String::from("// Written by runnel-gen; changes are lost with the next build.\n\n");
    let mut errors = same_modules(interfaces.packages.keys());
    for (name, package) in &interfaces.packages {
        out.push_str(&format!("/// The package `{name}`.\npub mod {} {{\n", names::module(name)));
        for kind in Kind::ALL {
            let module = Module { package: name, kind, interfaces };
            errors.extend(same_names(name, &module.parts(package)));
            out.push_str(&module.code(package, &mut errors));
        }
        out.push_str("}\n\n");
    }
    interfaces.left_out.iter().for_each(|name| out.push_str(&left_out(name)));
    if errors.is_empty() { Ok(out) } else { Err(errors) }
}

/// The module of a package whose feature is off: the compiler names the feature in its error about a use of the module.
fn left_out(package: &str) -> String {
    format!("#[cfg(feature = \"{package}\")]\npub mod {} {{}}\n\n", names::module(package))
}

/// Emits a macro that passes the path of every message to another macro, for tests of all messages. The modules of
/// packages whose features are off follow: the file is at the root of the crate, where users look for them.
pub(crate) fn message_list(interfaces: &Interfaces) -> String {
    let mut out = String::from(
        "/// Calls a macro with the path of every message, such as `std_msgs::msg::String`, each followed by a comma.\n\
         #[doc(hidden)]\n#[macro_export]\nmacro_rules! each_message {\n($with:ident) => { $with! {\n",
    );
    for (name, package) in &interfaces.packages {
        for kind in Kind::ALL {
            for message in (Module { package: name, kind, interfaces }).parts(package).messages {
                let [package, kind] = [&*names::module(name), kind.module()];
                out.push_str(&format!("{package}::{kind}::{},\n", type_name(message)));
            }
        }
    }
    out.push_str("} };\n}\n");
    interfaces.left_out.iter().for_each(|name| out.push_str(&left_out(name)));
    out
}

/// The messages and services in a module.
struct Parts<'a> {
    messages: Vec<&'a Message>,
    services: Vec<&'a Service>,
}

/// Errors for names that two types of a module share.
fn same_names(package: &str, parts: &Parts<'_>) -> Vec<GenerateError> {
    let views = parts.messages.iter().filter_map(|message| {
        let view = view_name(message)?;
        Some((format!("the view of {}", message.name().name), view))
    });
    let messages = parts.messages.iter().map(|message| (message.name().name.clone(), type_name(message)));
    let services = parts.services.iter().map(|service| {
        let name = &service.ros1.name.name;
        (format!("service {name}"), names::type_name(name))
    });
    let twice = taken_twice(messages.chain(services).chain(views));
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

/// Emitter of the types of one kind of a package.
struct Module<'a> {
    package: &'a str,
    kind: Kind,
    interfaces: &'a Interfaces,
}

impl Module<'_> {
    /// The package's definitions in this module.
    fn parts<'a>(&self, package: &'a Package) -> Parts<'a> {
        let is_here = |message: &&Message| Kind::of(message.name(), self.interfaces) == self.kind;
        match self.kind {
            Kind::Msg => {
                Parts { messages: package.messages.iter().filter(is_here).collect(), services: Vec::new() }
            }
            Kind::Srv => {
                let parts = package.services.iter().flat_map(|service| [&service.request, &service.response]);
                Parts { messages: parts.collect(), services: package.services.iter().collect() }
            }
            Kind::Action => {
                let services = package.actions.iter().flat_map(|action| &action.services);
                Parts {
                    messages: package.messages.iter().filter(is_here).collect(),
                    services: services.collect(),
                }
            }
        }
    }

    /// The module, if anything is in it.
    fn code(&self, package: &Package, errors: &mut Vec<GenerateError>) -> String {
        let Parts { messages, services } = self.parts(package);
        let mut code = String::new();
        for message in messages {
            match self.message(message) {
                Ok(text) => code.push_str(&text),
                Err(error) => errors.push(error),
            }
        }
        services.into_iter().for_each(|one| code.push_str(&service(one)));
        if self.kind == Kind::Action {
            package.actions.iter().for_each(|one| code.push_str(&action(one)));
        }
        if code.is_empty() {
            return code;
        }
        let (title, module) = (self.kind.title(), self.kind.module());
        format!("/// {title} of the package `{}`.\npub mod {module} {{\n{code}}}\n", self.package)
    }

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
             ros2: \"{}\", \"{}\", \"{}\"{}{}{}\n}}\n{}{}\n",
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
            ros2_definition(message),
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
                let kind = Kind::of(name, self.interfaces);
                match self.interfaces.own.contains(name) {
                    true if name.package == self.package && kind == self.kind => type_name,
                    true => format!("super::super::{module}::{}::{type_name}", kind.module()),
                    false => format!("::runnel::msgs::{module}::{}::{type_name}", kind.module()),
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

/// The ROS 2 definition of a message, unless ROS 1 has the same.
fn ros2_definition(Message { ros1, ros2 }: &Message) -> String {
    let differs = ros1.full_text != ros2.full_text;
    if differs { format!(", definition: {:?}", ros2.full_text) } else { String::new() }
}

/// The tail of a message that ends in an array of numbers.
fn tail(key: &str, schema: &Schema) -> String {
    match tail::tail(schema) {
        Some(TailField { path, element, after }) => {
            format!(", {key}: {}, element: {element}, after: {after}", path.join("."))
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

    fn message((name, text): (&str, &str)) -> Message {
        let form = |generation| Schema::from_full_text_in(generation, &TypeName::new("p", name), text);
        let [ros1, ros2] = Generation::ALL.map(|generation| form(generation).unwrap());
        Message { ros1, ros2 }
    }

    #[test]
    fn duplicate_type_name_is_an_error() {
        let twice = |messages: [(&str, &str); 2]| {
            let messages = messages.map(message);
            same_names("p", &Parts { messages: messages.iter().collect(), services: Vec::new() })
        };
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
