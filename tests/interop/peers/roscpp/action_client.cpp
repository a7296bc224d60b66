// Sends goals 1 to 5 of an action of actionlib/Test simultaneously, and cancels 4 and 5 once the server has them. Prints
// `feedback NUMBER VALUE` and `goal NUMBER STATUS RESULT TEXT` for each, then `done`.
#include <actionlib/TestAction.h>
#include <actionlib/client/action_client.h>
#include <ros/callback_queue.h>

#include "peer.hpp"

using Client = actionlib::ActionClient<actionlib::TestAction>;
using Goal = Client::GoalHandle;
using actionlib::CommState;

/// Runs callbacks until a condition holds.
template <class Condition>
static void wait_until(Condition is_met) {
  const ros::WallTime deadline = ros::WallTime::now() + ros::WallDuration(60);
  while (!is_met()) {
    if (ros::WallTime::now() > deadline) {
      std::cerr << "the deadline passed" << std::endl;
      std::exit(1);
    }
    ros::getGlobalCallbackQueue()->callAvailable(ros::WallDuration(0.01));
  }
}

int main(int argc, char** argv) {
  ros::init(argc, argv, "action_client");
  const peer::Options options(argc, argv, {});
  Client client(options.topic);
  {
    ros::AsyncSpinner spinner(1);
    spinner.start();
    if (!client.waitForActionServerToStart(ros::Duration(60))) return 1;
  }
  std::map<int, std::vector<int>> feedback;
  std::vector<Goal> goals;
  for (int number = 1; number <= 5; ++number) {
    actionlib::TestGoal goal;
    goal.goal = number;
    const auto on_feedback = [&feedback, number](const Goal&, const actionlib::TestFeedbackConstPtr& message) {
      feedback[number].push_back(message->feedback);
    };
    goals.push_back(client.sendGoal(goal, {}, on_feedback));
  }
  wait_until([&] { return goals[3].getCommState() == CommState::ACTIVE; });
  wait_until([&] { return goals[4].getCommState() == CommState::PENDING; });
  wait_until([&] { return feedback.count(4) != 0; });
  goals[3].cancel();
  goals[4].cancel();
  for (int number = 1; number <= 5; ++number) {
    Goal& goal = goals[number - 1];
    wait_until([&] { return goal.getCommState() == CommState::DONE; });
    for (const int value : feedback[number]) std::cout << "feedback " << number << " " << value << std::endl;
    const actionlib::TerminalState end = goal.getTerminalState();
    std::cout << "goal " << number << " " << end.toString() << " " << goal.getResult()->result << " " << end.getText()
              << std::endl;
  }
  std::cout << "done" << std::endl;
  return 0;
}
