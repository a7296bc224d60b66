//! Pending service calls: futures, or entities of a wait set.

use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use runnel_core::message::Service;
use runnel_core::time::Instant;

use crate::data::PendingCall;
use crate::error::Error;
use crate::ready::Waitable;
use crate::runtime::task_waiter::TaskWaiter;
use crate::services::caller::{Caller, Request, ResponseBytes};
use crate::services::client::{Client, Typed, deadline, read_response};

/// A pending service call: a future of its response, for any async runtime. Dropping it abandons the call.
///
/// The spinning thread wakes the task; if no thread spins, a background thread does.
///
/// # Wakers
/// Runnel holds none of its locks while it wakes a task or drops a waker. So a waker may call Runnel, for example to
/// poll its task immediately. It runs on the thread that received or published, and delays that thread. This holds for
/// all futures and streams of Runnel.
///
/// # Without a task
/// Instead of awaiting the call, a program may add it to a [`WaitSet`](crate::WaitSet) and
/// [take](PendingResponse::take) the response.
#[must_use = "a call is abandoned when it is dropped: await it or bind it to a name, `let response = ...`, not `let _ = ...`"]
pub struct PendingResponse<S> {
    bytes: PendingBytes,
    service: PhantomData<fn(S)>,
}

/// A pending service call of any type. Dropping it abandons the call.
pub(crate) struct PendingBytes {
    caller: Arc<Caller>,
    pending: Arc<PendingCall>,
    waiter: TaskWaiter,
    is_taken: bool,
}

impl<S: Service> Client<S> {
    /// Calls the service. The request is sent at once. The future returns the response, or why there is none; dropping
    /// it abandons the call. For a time limit, use the runtime's or [`Client::send_request`].
    ///
    /// A service of this process answers only while another thread or task spins its node.
    ///
    /// ```no_run
    /// use runnel::msgs::std_srvs::srv::{SetBool, SetBoolRequest};
    ///
    /// async fn switch_on(client: &runnel::Client<SetBool>) -> Result<(), runnel::Error> {
    ///     let response = client.call_async(&SetBoolRequest { data: true }).await?;
    ///     println!("{}", response.message);
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// Those of [`Client::call`], when the future is awaited.
    pub fn call_async(
        &self,
        request: &S::Request,
    ) -> impl Future<Output = Result<S::Response, Error>> + Send + Unpin + use<S> {
        let mut sent = self.send_request(request, None).map_err(Some);
        poll_fn(move |task| match &mut sent {
            Ok(pending) => Pin::new(pending).poll(task),
            Err(error) => Poll::Ready(Err(error.take().unwrap_or(Error::ShuttingDown))),
        })
    }

    /// Sends a request and returns at once. Await the response or [take](PendingResponse::take) it. With a `timeout`,
    /// the call fails if there is no response by then.
    ///
    /// # Errors
    /// As [`Client::call_with`].
    pub fn send_request(
        &self,
        request: &S::Request,
        timeout: Option<Duration>,
    ) -> Result<PendingResponse<S>, Error> {
        let bytes = PendingBytes::send(self.caller(), &Typed(request), deadline(timeout))?;
        Ok(PendingResponse { bytes, service: PhantomData })
    }
}

impl<S: Service> PendingResponse<S> {
    /// Takes the response, or why there is none, once. `None` while it is pending.
    pub fn take(&mut self) -> Option<Result<S::Response, Error>> {
        self.bytes.take().map(|response| self.read(&response?))
    }

    pub(crate) fn pending(&self) -> &Arc<PendingCall> {
        &self.bytes.pending
    }

    fn read(&self, response: &ResponseBytes) -> Result<S::Response, Error> {
        read_response::<S>(self.bytes.caller.service(), response)
    }
}

impl<S: Service> Future for PendingResponse<S> {
    type Output = Result<S::Response, Error>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        self.bytes.poll(task).map(|response| self.read(&response?))
    }
}

impl PendingBytes {
    /// Sends a request.
    ///
    /// # Errors
    /// As [`Client::call_with`].
    pub(crate) fn send(
        caller: &Arc<Caller>,
        request: &dyn Request,
        until: Option<Instant>,
    ) -> Result<Self, Error> {
        let pending = caller.send(request, until)?;
        let waitable: Arc<dyn Waitable> = Arc::<PendingCall>::clone(&pending);
        let waiter = TaskWaiter::new(caller.shared(), vec![waitable]);
        Ok(Self { caller: Arc::clone(caller), pending, waiter, is_taken: false })
    }

    fn take(&mut self) -> Option<Result<ResponseBytes, Error>> {
        let response = self.caller.take(&self.pending)?;
        self.is_taken = true;
        Some(response)
    }

    pub(crate) fn poll(&mut self, task: &mut Context<'_>) -> Poll<Result<ResponseBytes, Error>> {
        self.waiter.register(task);
        match self.take() {
            Some(response) => Poll::Ready(response),
            None if self.is_taken || !self.waiter.ok() => Poll::Ready(Err(Error::ShuttingDown)),
            None => Poll::Pending,
        }
    }
}

impl<S> fmt::Debug for PendingResponse<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let service = self.bytes.caller.service();
        f.debug_struct("PendingResponse").field("service", &service).finish_non_exhaustive()
    }
}

impl Drop for PendingBytes {
    fn drop(&mut self) {
        if !self.is_taken {
            self.caller.end(&self.pending);
        }
    }
}
