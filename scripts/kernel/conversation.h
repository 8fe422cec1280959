#ifndef HALYARD_COMMAND_CONVERSATION_H
#define HALYARD_COMMAND_CONVERSATION_H

/** \file
 * A child process that is told lines and says lines, for as long as somebody has something to tell it.
 */

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace halyard {

class Conversation {
public:
    /** Starts a program (searched in PATH where it has no slash) with NAME=VALUE added to our environment, in a process group of
     * its own: Ctrl-C does not reach it. Throws Failure where it cannot be started. */
    Conversation(const std::vector<std::string> &command, const std::vector<std::string> &environment);

    /** Ends its input, gives it some seconds to end in order, and kills its group. */
    ~Conversation();

    Conversation(const Conversation &) = delete;
    Conversation &operator=(const Conversation &) = delete;

    /** False where it listens no more. */
    bool tell(const std::string &line);

    /** Its next line, without the end of the line; nothing where none came within so many seconds, or where it has ended.
     * Throws Interrupted after SIGINT or SIGTERM. */
    std::optional<std::string> hear(double seconds);

    /** Whether it will say nothing more. */
    bool ended() const;

    /** What it wrote to standard error, without what is in the middle of very much. */
    std::string complaints() const;

private:
    struct Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace halyard

#endif
