//! What the code that `runnel-gen` writes is made with. Nobody else needs it: it may change with any version.

#[doc(hidden)]
pub use alloc::{string::String, vec::Vec};

/// Makes a message type: the structure, its view, and its [`Wire`](crate::wire::Wire) and
/// [`Message`](crate::Message) forms.
///
/// A type of nothing but numbers (`plain`) is its own view; any other has a view in which texts and arrays are
/// borrowed. The literal before each type is the field's name on the wire, which Rust may not allow.
#[doc(hidden)]
#[macro_export]
macro_rules! message {
    (
        $(#[$attribute:meta])*
        plain $name:ident { $( $(#[$doc:meta])* $field:ident $wire_name:literal: $type:ty, )* }
        $($names:tt)*
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name { $( $(#[$doc])* pub $field: $type, )* }

        $crate::message!(@wire $name, $name, { $($field $wire_name: $type,)* });
        $crate::message!(@names $name, $($names)*);
    };
    (
        $(#[$attribute:meta])*
        $name:ident as $view:ident { $( $(#[$doc:meta])* $field:ident $wire_name:literal: $type:ty, )* }
        $($names:tt)*
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name { $( $(#[$doc])* pub $field: $type, )* }

        #[doc = concat!("[`", stringify!($name), "`] as borrowed from received bytes or from a value.")]
        #[derive(Clone, Copy, Debug)]
        pub struct $view<'a> {
            $( $(#[$doc])* pub $field: <$type as $crate::wire::Wire>::View<'a>, )*
        }

        $crate::message!(@wire $name, $view<'a>, { $($field $wire_name: $type,)* });
        $crate::message!(@names $name, $($names)*);
    };
    (@wire $name:ident, $view:ident $(<$lifetime:lifetime>)?, { $($field:ident $wire_name:literal: $type:ty,)* }) => {
        impl $crate::wire::Wire for $name {
            const MIN_LEN: usize = 0 $(+ <$type as $crate::wire::Wire>::MIN_LEN)*;
            type View<'a> = $view $(<$lifetime>)?;
            type Slice<'a> = $crate::wire::Seq<'a, Self>;

            #[inline]
            fn write<S: $crate::wire::Sink + ?Sized>(&self, out: &mut S) {
                $( $crate::wire::Wire::write(&self.$field, out); )*
                let _ = out;
            }

            fn read_into(
                &mut self,
                from: &mut $crate::wire::Reader<'_>,
            ) -> ::core::result::Result<(), $crate::wire::DecodeError> {
                $(
                    $crate::wire::Wire::read_into(&mut self.$field, from)
                        .map_err(|error| error.within($wire_name))?;
                )*
                let _ = from;
                Ok(())
            }

            fn read_view<'a>(
                from: &mut $crate::wire::Reader<'a>,
            ) -> ::core::result::Result<Self::View<'a>, $crate::wire::DecodeError> {
                let _ = &from;
                Ok($view {
                    $(
                        $field: <$type as $crate::wire::Wire>::read_view(from)
                            .map_err(|error| error.within($wire_name))?,
                    )*
                })
            }

            fn view(&self) -> Self::View<'_> {
                $view { $( $field: $crate::wire::Wire::view(&self.$field), )* }
            }

            fn read_slice<'a>(
                from: &mut $crate::wire::Reader<'a>,
                count: usize,
            ) -> ::core::result::Result<Self::Slice<'a>, $crate::wire::DecodeError> {
                $crate::wire::Seq::read(from, count)
            }

            fn slice(values: &[Self]) -> Self::Slice<'_> {
                $crate::wire::Seq::from_values(values)
            }
        }
    };
    (
        @names $name:ident, $ros_name:literal, $md5:literal, header: $has_header:literal, $definition:literal
        $(, tail: $($tail:ident).+, element: $element:literal, behind: $behind:literal)?
    ) => {
        impl $crate::Message for $name {
            const TYPE: &'static str = $ros_name;
            const MD5: &'static str = $md5;
            const DEFINITION: &'static str = $definition;
            const HAS_HEADER: bool = $has_header;
            const TAIL: ::core::option::Option<$crate::message::Tail> =
                $crate::message!(@tail $($element, $behind)?);

            fn tail_len(&self) -> usize {
                0 $(+ self.$($tail).+.len())?
            }
        }
    };
    (@tail) => { ::core::option::Option::None };
    (@tail $element:literal, $behind:literal) => {
        ::core::option::Option::Some($crate::message::Tail { element: $element, behind: $behind })
    };
}

/// Makes the type that names a service.
#[doc(hidden)]
#[macro_export]
macro_rules! service {
    (
        $(#[$attribute:meta])*
        $name:ident($request:ident) -> $response:ident, $ros_name:literal, $md5:literal
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl $crate::Service for $name {
            type Request = $request;
            type Response = $response;
            const TYPE: &'static str = $ros_name;
            const MD5: &'static str = $md5;
        }
    };
}

/// Makes an action of the messages that ROS 1 derives from it.
#[doc(hidden)]
#[macro_export]
macro_rules! action {
    (
        $name:ident($goal:ident, $result:ident, $feedback:ident),
        $action_goal:ident, $action_result:ident, $action_feedback:ident, $ros_name:literal
    ) => {
        impl $crate::Action for $name {
            type Goal = $goal;
            type Result = $result;
            type Feedback = $feedback;
            type ActionGoal = $action_goal;
            type ActionResult = $action_result;
            type ActionFeedback = $action_feedback;
            const NAME: &'static str = $ros_name;
        }
    };
}
